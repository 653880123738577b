import { accounts, login, logout, tokens, whoAmI } from './admin/index.ts'
import { alerts } from './alerts/index.ts'
import { audit } from './audit/index.ts'
import { boxes, manifest } from './boxes/index.ts'
import { completionOf } from './completion/index.ts'
import { crons } from './crons/index.ts'
import { events } from './events/index.ts'
import { hosts } from './hosts/index.ts'
import type { Tree } from './kit/index.ts'
import { limits } from './limits/index.ts'
import { rollouts } from './rollouts/index.ts'
import { doctor } from './service/index.ts'
import { snapshots } from './snapshots/index.ts'
import { tenants } from './tenants/index.ts'
import { users } from './users/index.ts'

/** Every command there is; help, completion and parsing are made from it. */
export const tree: Tree = {
  nouns: [
    hosts,
    tenants,
    users,
    limits,
    boxes,
    manifest,
    snapshots,
    rollouts,
    alerts,
    crons,
    events,
    audit,
    tokens,
    accounts,
    completionOf(() => tree),
  ],
  alone: [login, logout, whoAmI, doctor],
}
