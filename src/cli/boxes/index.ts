// `tenantry boxes` and `tenantry manifest`: the registry of tenant boxes, what they run, and what they should run.
// It decides nothing about drift or health; daemon and agents do, and this shows it.
import { noun } from '../kit/index.ts'
import { adopt } from './adopt.ts'
import { check } from './check.ts'
import { list } from './list.ts'
import { logs } from './logs.ts'
import { maintenance } from './maintenance.ts'
import { apply } from './manifest-apply.ts'
import { diff } from './manifest-diff.ts'
import { show as showManifest } from './manifest-show.ts'
import { move } from './move.ts'
import { provision } from './provision.ts'
import { reconcile } from './reconcile.ts'
import { release } from './release.ts'
import { remove } from './remove.ts'
import { scan } from './scan.ts'
import { show } from './show.ts'

export { awaitCommand } from './await-command.ts'
export { everyBox } from './every-box.ts'
export { shownBox } from './shown-box.ts'
export { versionMoves } from './version-moves.ts'

export const boxes = noun('boxes', 'Tenant boxes: chat server, database, object store', [
  list,
  show,
  provision,
  adopt,
  scan,
  check,
  logs,
  maintenance,
  move,
  remove,
  release,
  reconcile,
])
export const manifest = noun('manifest', 'The versions that boxes should run', [showManifest, diff, apply])
