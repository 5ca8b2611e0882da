import { access, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimPlace } from './claimPlace.js';

describe('claimPlace', () => {
  let parent: string;
  let server: Server;
  let port: number;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'ostraka-place-'));
    server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    server.close();
    await rm(parent, { recursive: true, force: true });
  });

  it('leaves no new data folder behind where a port is taken', async () => {
    const dataFolder = join(parent, 'a', 'data');
    await expect(claimPlace({ dataFolder, port, shards: 1 })).rejects.toMatchObject({ code: 'PORT_IN_USE' });
    await expect(access(join(parent, 'a'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('looks at the ports of a folder that is there, too', async () => {
    await expect(claimPlace({ dataFolder: parent, port, shards: 1 })).rejects.toMatchObject({ code: 'PORT_IN_USE' });
  });
});
