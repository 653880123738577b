import { command } from '../kit/index.ts'
import { watched } from './followed.ts'
import { exitOfRollout } from './words.ts'

export const watch = command(
  'watch <id>',
  'Show a rollout live: phases, boxes under way, failures, time left',
  {},
  (context, { id }) => watched(context, id),
  () => '',
  { exit: exitOfRollout },
)
