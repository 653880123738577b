import { problem } from '../../core/kit/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { beginMaintenance, endMaintenance } from './box-fence.ts'
import { boxOfCommand } from './box-of-command.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { type ReportDeps, reportVersions } from './report-versions.ts'

type Deps = ReportDeps & Readonly<{ boxes: LocalBoxes; locks: BoxLocks }>

/** Closes or opens the edge while people work on the box. Both may come twice; a command that works on the box now keeps it: BOX_HELD. */
export const maintain =
  (deps: Deps): CommandExecutor<'tenant-box.maintenance'> =>
  async (_, payload) => {
    const lock = await deps.locks.acquire(payload.slug)
    try {
      const box = await boxOfCommand(deps.boxes, payload)
      if (!box.managed)
        throw problem('BOX_NOT_MANAGED', `the box ${box.slug} is only observed: its edge has no fence; complete its adoption first`)
      if (payload.on) await beginMaintenance(deps, box, payload.reason)
      else await endMaintenance(box)
      return { report: await reportVersions(deps, box) }
    } finally {
      await lock.release()
    }
  }
