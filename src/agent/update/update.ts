import { foldUpdate, obstacleTo, planUpdate } from '../../core/boxes/index.ts'
import { carryOut, type GuardedDeps } from '../guarded/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { observe } from './observe.ts'
import { type UpdateSteps, updateSteps } from './steps.ts'
import { close } from './sum-up.ts'

/** The guarded update. */
export const update = (deps: GuardedDeps, steps: UpdateSteps = updateSteps): CommandExecutor<'tenant-box.update'> =>
  carryOut(deps, {
    kind: 'tenant-box.update',
    what: 'update',
    doing: 'updating',
    fold: foldUpdate,
    observe,
    obstacle: obstacleTo,
    plan: planUpdate,
    steps,
    first: 'prefetch',
    // Without a fence the stop is the first thing that users notice.
    holdsBox: ['fence', 'stop'],
    undeadlined: ['commit', 'unfence', 'restore-stop', 'restore-data', 'restore-start', 'restore-probe'],
    close,
    room: ({ prefetch }) => prefetch?.room,
  })
