// `tenantry rollouts`: plans, starts, watches, pauses, resumes and rolls back updates of boxes.
// It updates nothing itself: the daemon's engine does. It prompts, shows results and names the next command.
import { noun } from '../kit/index.ts'
import { abort, pause, promote, resume, start, watch } from './control.ts'
import { create } from './create.ts'
import { emergency } from './emergency.ts'
import { plan } from './plan.ts'
import { rehearse } from './rehearse.ts'
import { rollback } from './rollback.ts'
import { list, show } from './show.ts'

export const rollouts = noun('rollouts', 'Staged updates of boxes to the manifest', [
  plan,
  rehearse,
  create,
  start,
  watch,
  pause,
  resume,
  promote,
  abort,
  rollback,
  show,
  list,
  emergency,
])
