// Quantises one file in a process of its own: arguments from, to, file type. How it went is told over the channel, and by the exit code.
import { toOstrakaError } from '../../base/index.js';
import { quantizeModel } from '../../platform/node/index.js';

const [from = '', to = '', fileType = ''] = process.argv.slice(2);
try {
  quantizeModel({ from, to, fileType: Number(fileType) });
  process.exit(0);
} catch (thrown) {
  process.send?.(toOstrakaError(thrown).toJson(), () => process.exit(1));
}
