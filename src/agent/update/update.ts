import { updateSaga } from '../../core/boxes/index.ts'
import { type ChangeDeps, runChange } from '../change/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { observe } from './observe.ts'
import { type UpdateSteps, updateSteps } from './steps.ts'
import { close } from './sum-up.ts'

/** The guarded update. */
export const update = (deps: ChangeDeps, steps: UpdateSteps = updateSteps): CommandExecutor<'tenant-box.update'> =>
  runChange(deps, {
    kind: 'tenant-box.update',
    doing: 'updating',
    sagaOf: ({ fence }) => updateSaga(fence.mode),
    observe,
    steps,
    close,
    room: ({ prefetch }) => prefetch?.room,
  })
