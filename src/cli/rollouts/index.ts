// `tenantry rollouts`: plan, start, watch, hold, resume and end the moves of boxes to new versions.
// It orders nothing itself: the engine in the daemon does; this asks, shows, and says what to type next.
import { noun } from '../kit/index.ts'
import { abort, pause, resume, start, watch } from './control.ts'
import { create } from './create.ts'
import { emergency } from './emergency.ts'
import { plan } from './plan.ts'
import { rehearse } from './rehearse.ts'
import { rollback, undo } from './rollback.ts'
import { list, show } from './show.ts'

export const rollouts = noun('rollouts', 'Staged moves of boxes to the versions of the manifest', [
  plan,
  rehearse,
  create,
  start,
  watch,
  pause,
  resume,
  abort,
  rollback,
  undo,
  show,
  list,
  emergency,
])
