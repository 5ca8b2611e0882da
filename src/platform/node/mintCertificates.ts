import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** PEM of a certificate and its private key (PKCS #8). */
export interface KeyedCertificate {
  readonly certificate: string;
  readonly key: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;

const pem = (label: string, bytes: ArrayBuffer): string => {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};

const newKeys = async (): Promise<{ readonly keys: webcrypto.CryptoKeyPair; readonly pem: string }> => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  return { keys, pem: pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)) };
};

const serialNumber = (): string =>
  Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)))
    .toString('hex')
    .replace(/^./, '1');

/**
 * The certificates of a local cluster (R33): an authority of its own and one leaf a shard, whose URI name
 * `spiffe://<cluster>/shard/<id>` is the shard's identity. The authority's key is not kept: a new shard means a new set.
 */
export async function mintCertificates(request: {
  readonly clusterName: string;
  readonly shardIds: readonly string[];
  readonly nowMs: number;
}): Promise<{ readonly authority: string; readonly shards: ReadonlyMap<string, KeyedCertificate> }> {
  const notBefore = new Date(request.nowMs - dayMs);
  const notAfter = new Date(request.nowMs + 825 * dayMs);
  const issuer = await newKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${request.clusterName} authority`,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    keys: issuer.keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  const shards = new Map<string, KeyedCertificate>();
  for (const shardId of request.shardIds) {
    const leaf = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${shardId}`,
      issuer: authority.subject,
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
      publicKey: leaf.keys.publicKey,
      signingKey: issuer.keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']),
        new x509.SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${request.clusterName}/shard/${shardId}` }]),
      ],
    });
    shards.set(shardId, { certificate: certificate.toString('pem'), key: leaf.pem });
  }
  return { authority: authority.toString('pem'), shards };
}
