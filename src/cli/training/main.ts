// The trainer's child: the model's passes on ggml, the trainer, the channel to the command that started it.
import { serveTrainer } from './serveTrainer.js';

serveTrainer();
