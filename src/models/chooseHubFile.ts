import { platformError } from '../platform/index.js';
import type { HubName } from './HubName.js';
import { writeHubName } from './writeHubName.js';

const choicesShownMax = 50;
const piece = /-\d{5}-of-\d{5}\.gguf$/;

/** The file that a name means: the one it names, or the only GGUF file there is. Errors: MODEL_FILE_UNCLEAR, with what can be chosen. */
export function chooseHubFile(name: HubName, files: readonly string[]): string {
  const models = files.filter((file) => file.endsWith('.gguf'));
  const whole = models.filter((file) => !piece.test(file));
  const wanted = name.file === undefined ? whole : whole.filter((file) => file === name.file);
  const [only] = wanted;
  if (only !== undefined && wanted.length === 1) return only;
  throw platformError('MODEL_FILE_UNCLEAR', `${writeHubName(name)}: ${reasonOf(name, whole, models)}`, {
    data: { files: whole.slice(0, choicesShownMax) },
  });
}

const reasonOf = ({ file, ...place }: HubName, whole: readonly string[], models: readonly string[]): string => {
  if (models.length === 0) return 'there is no GGUF file in it; other forms are not read';
  if (whole.length === 0 || (file !== undefined && piece.test(file))) return 'its models are cut into several files, which are not read';
  const shown = whole.slice(0, choicesShownMax).map((one) => writeHubName({ ...place, file: one }));
  const more = whole.length > choicesShownMax ? ` and ${whole.length - choicesShownMax} more` : '';
  return `${file === undefined ? 'there are several files' : 'there is no such file'}; choose one of ${shown.join(', ')}${more}`;
};
