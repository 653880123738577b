// `tenantry boxes` and `tenantry manifest`: list, set up, check, move and remove boxes, and show, compare and apply manifests.
// It decides nothing about drift or health: daemon and agents do. Destructive commands ask for confirmation.
import { noun } from '../kit/index.ts'
import { check } from './check.ts'
import { follow } from './follow.ts'
import { importBox } from './import.ts'
import { logs } from './logs.ts'
import { canary, maintenance, reconcile, release } from './maintenance.ts'
import { apply, diff, resolve, rollback, show as showManifest } from './manifest.ts'
import { history } from './manifest-history.ts'
import { move } from './move.ts'
import { adopt, provision } from './provision.ts'
import { rehearseUpgrade } from './rehearse-upgrade.ts'
import { remove } from './remove.ts'
import { restart } from './restart.ts'
import { scan } from './scan.ts'
import { services } from './services.ts'
import { list, show } from './show.ts'

export { awaitCommand, awaitWithProgress } from './await-command.ts'
export { healthLine } from './boxes.view.ts'
export { followLine } from './follow.ts'
export { moveView } from './lifecycle.view.ts'
export { logLine } from './logs.ts'
export { isOnNewHost, moveFromLostHost } from './move.ts'
export { getBox, listAllBoxes, listBoxesOf } from './show.ts'

export const boxes = noun('boxes', 'Manage tenant boxes (chat server, database, object store)', [
  list,
  show,
  provision,
  adopt,
  importBox,
  scan,
  check,
  follow,
  services,
  logs,
  restart,
  maintenance,
  canary,
  move,
  remove,
  release,
  reconcile,
  rehearseUpgrade,
])
export const manifest = noun('manifest', 'Manage the version manifest', [showManifest, history, diff, resolve, apply, rollback])
