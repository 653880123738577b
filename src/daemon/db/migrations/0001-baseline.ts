import { automation } from './baseline/automation.ts'
import { billing } from './baseline/billing.ts'
import { boards } from './baseline/boards.ts'
import { boxes } from './baseline/boxes.ts'
import { hosts } from './baseline/hosts.ts'
import { marketplace } from './baseline/marketplace.ts'
import { modules } from './baseline/modules.ts'
import { operators } from './baseline/operators.ts'
import { rollouts } from './baseline/rollouts.ts'
import { snapshots } from './baseline/snapshots.ts'
import { spaces } from './baseline/spaces.ts'
import { store } from './baseline/store.ts'
import { tenantsAndUsers } from './baseline/tenants-and-users.ts'
import { work } from './baseline/work.ts'
import type { Migration } from './migration.ts'

/**
 * The tables of the first release. A table stands behind those that it references. The order of indexes counts too: between two that serve
 * equally well, SQLite takes the one that was created last.
 */
export const baseline: Migration = {
  name: '0001-baseline',
  async up(db) {
    const statements = [
      ...tenantsAndUsers,
      ...operators(db),
      ...work(db),
      ...hosts,
      ...boxes,
      ...snapshots,
      ...rollouts,
      ...spaces,
      ...boards(db),
      ...automation,
      ...modules(db),
      ...store,
      ...marketplace,
      ...billing,
    ]
    for (const statement of statements) await statement.execute(db)
  },
}
