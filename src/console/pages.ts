import { adminConsole } from './admin/index.ts'
import { alertsConsole } from './alerts/index.ts'
import { auditConsole } from './audit/index.ts'
import { billingConsole } from './billing/index.ts'
import { boardsConsole } from './boards/index.ts'
import { boxesConsole } from './boxes/index.ts'
import { hostsConsole } from './hosts/index.ts'
import { jobsConsole } from './jobs/index.ts'
import type { ConsoleFeature } from './kit/index.ts'
import { loginConsole } from './login/index.ts'
import { manifestConsole } from './manifest/index.ts'
import { marketplaceConsole } from './marketplace/index.ts'
import { modulesConsole } from './modules/index.ts'
import { overviewConsole } from './overview/index.ts'
import { reviewsConsole } from './reviews/index.ts'
import { rolloutsConsole } from './rollouts/index.ts'
import { serviceConsole } from './service/index.ts'
import { sessionsConsole } from './sessions/index.ts'
import { snapshotsConsole } from './snapshots/index.ts'
import { tenantsConsole } from './tenants/index.ts'

/** Every feature of the console: one line each. The order of the navigation is in the pages. */
export const features: readonly ConsoleFeature[] = [
  overviewConsole,
  alertsConsole,
  boxesConsole,
  manifestConsole,
  sessionsConsole,
  hostsConsole,
  tenantsConsole,
  modulesConsole,
  reviewsConsole,
  marketplaceConsole,
  billingConsole,
  boardsConsole,
  auditConsole,
  jobsConsole,
  rolloutsConsole,
  snapshotsConsole,
  adminConsole,
  loginConsole,
  serviceConsole,
]
