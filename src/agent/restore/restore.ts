import { restoreSaga } from '../../core/boxes/index.ts'
import { type ChangeDeps, runChange } from '../change/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { observe } from './observe.ts'
import { type RestoreSteps, restoreStepsOfBox } from './steps.ts'
import { close } from './sum-up.ts'

/** The restore of a box on its own host. */
export const restore = (deps: ChangeDeps, steps: RestoreSteps = restoreStepsOfBox): CommandExecutor<'tenant-box.restore'> =>
  runChange(deps, {
    kind: 'tenant-box.restore',
    doing: 'restoring',
    sagaOf: () => restoreSaga,
    observe,
    steps,
    close,
    room: ({ fetch }) => fetch?.room,
  })
