// `tenantry boxes` and `tenantry manifest`: the registry of tenant boxes, what they run, and what they should run.
// It decides nothing about drift or health; daemon and agents do, and this shows it.
import { noun } from '../kit/index.ts'
import { check } from './check.ts'
import { logs } from './logs.ts'
import { maintenance, reconcile, release } from './maintenance.ts'
import { apply, diff, show as showManifest } from './manifest.ts'
import { move } from './move.ts'
import { adopt, provision } from './provision.ts'

import { remove } from './remove.ts'
import { scan } from './scan.ts'
import { list, show } from './show.ts'

export { awaitCommand } from './await-command.ts'
export { versionMoves } from './boxes.view.ts'
export { getBox, listAllBoxes } from './show.ts'

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
