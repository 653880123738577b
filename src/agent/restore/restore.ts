import { foldRestore, planRestore, restoreObstacle } from '../../core/boxes/index.ts'
import { carryOut, type GuardedDeps } from '../guarded/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { observe } from './observe.ts'
import { type RestoreSteps, restoreStepsOfBox } from './steps.ts'
import { close } from './sum-up.ts'

/** The restore of a box on its own host. */
export const restore = (deps: GuardedDeps, steps: RestoreSteps = restoreStepsOfBox): CommandExecutor<'tenant-box.restore'> =>
  carryOut(deps, {
    kind: 'tenant-box.restore',
    what: 'restore',
    doing: 'restoring',
    fold: foldRestore,
    observe,
    obstacle: restoreObstacle,
    plan: planRestore,
    steps,
    first: 'fetch',
    holdsBox: ['fence'],
    undeadlined: ['commit', 'unfence', 'back-stop', 'back-switch', 'back-start', 'back-probe'],
    close,
    room: ({ fetch }) => fetch?.room,
  })
