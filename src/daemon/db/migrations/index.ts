import { baseline } from './0001-baseline.ts'
import { health } from './0002-health.ts'
import { notifyAlerts } from './0003-notify-alerts.ts'
import { failureLogs } from './0004-failure-logs.ts'
import { boxSizes } from './0005-box-sizes.ts'
import { liveLogs } from './0006-live-logs.ts'
import { people } from './0007-people.ts'
import { boxImports } from './0008-box-imports.ts'
import { cronsAsJobs } from './0009-crons-as-jobs.ts'
import { companyLogins } from './0010-company-logins.ts'
import { removalRemarks } from './0011-removal-remarks.ts'
import { archives } from './0012-archives.ts'
import { gates } from './0013-gates.ts'
import { maintenanceNotices } from './0014-maintenance-notices.ts'
import { upgradeRehearsals } from './0015-upgrade-rehearsals.ts'
import { hotSnapshots } from './0016-hot-snapshots.ts'
import { vendorAccounts } from './0017-vendor-accounts.ts'
import { branding } from './0018-branding.ts'
import { passkeys } from './0019-passkeys.ts'
import { traces } from './0020-traces.ts'
import type { Migration } from './migration.ts'

/** All migrations, in the order of their names, in which they are applied. One that was released never changes. */
export const migrations: readonly Migration[] = [
  baseline,
  health,
  notifyAlerts,
  failureLogs,
  boxSizes,
  liveLogs,
  people,
  boxImports,
  cronsAsJobs,
  companyLogins,
  removalRemarks,
  archives,
  gates,
  maintenanceNotices,
  upgradeRehearsals,
  hotSnapshots,
  vendorAccounts,
  branding,
  passkeys,
  traces,
]
