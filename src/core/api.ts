import { adminContract } from './admin/index.ts'
import { alertsContract } from './alerts/index.ts'
import { auditContract, tenantRecordContract } from './audit/index.ts'
import { authContract } from './auth/index.ts'
import { automationContract, automationKeysContract } from './automation/index.ts'
import { billingContract, ownBillingContract, vendorMoneyContract } from './billing/index.ts'
import { boardsContract, bundleContract, operatorBoardsContract, triggersContract } from './boards/index.ts'
import { bootstrapContract } from './bootstrap/index.ts'
import { boxesContract } from './boxes/index.ts'
import { brandingContract } from './branding/index.ts'
import { contactsContract } from './contacts/index.ts'
import type { Contract } from './contract/index.ts'
import { cronsContract } from './crons/index.ts'
import { eventsContract } from './events/index.ts'
import { filesContract } from './files/index.ts'
import { homeserverContract } from './homeserver/index.ts'
import { agentContract, hostsContract } from './hosts/index.ts'
import { jobsContract } from './jobs/index.ts'
import { limitsContract } from './limits/index.ts'
import { maintenanceContract } from './maintenance/index.ts'
import { marketplaceAdminContract, marketplaceContract, marketplacePublicContract, vendorContract } from './marketplace/index.ts'
import { moduleServicesContract } from './module-services/index.ts'
import { moduleRunsContract, modulesContract, operatorModulesContract } from './modules/index.ts'
import { paymentsContract, webhooksContract } from './payments/index.ts'
import { passwordContract, peopleContract } from './people/index.ts'
import { privacyContract } from './privacy/index.ts'
import { profileContract } from './profile/index.ts'
import { emergencyContract, rolloutsContract } from './rollouts/index.ts'
import { operatorRunsContract, runsContract } from './runs/index.ts'
import { schoolContract } from './school/index.ts'
import { serviceContract } from './service/index.ts'
import { sessionsContract } from './sessions/index.ts'
import { snapshotsContract } from './snapshots/index.ts'
import { spacesContract } from './spaces/index.ts'
import { catalogueContract, storeContract, storeInvitesContract } from './store/index.ts'
import { supportContract } from './support/index.ts'
import { tasksContract } from './tasks/index.ts'
import { tenantsContract } from './tenants/index.ts'
import { usersContract } from './users/index.ts'

/** The contract of every feature; its name is the tag in the documentation. Routes, OpenAPI and clients are derived from this list. */
export const api = {
  auth: authContract,
  admin: adminContract,
  audit: { ...auditContract, ...tenantRecordContract },
  alerts: alertsContract,
  jobs: jobsContract,
  webhooks: webhooksContract,
  'module-services': moduleServicesContract,
  rollouts: { ...rolloutsContract, ...emergencyContract },
  boxes: boxesContract,
  snapshots: snapshotsContract,
  crons: cronsContract,
  hosts: hostsContract,
  agent: agentContract,
  tenants: tenantsContract,
  users: usersContract,
  people: peopleContract,
  passwords: passwordContract,
  privacy: privacyContract,
  homeserver: homeserverContract,
  sessions: sessionsContract,
  maintenance: maintenanceContract,
  school: schoolContract,
  limits: limitsContract,
  events: eventsContract,
  bootstrap: bootstrapContract,
  branding: brandingContract,
  profile: profileContract,
  contacts: contactsContract,
  tasks: tasksContract,
  spaces: spacesContract,
  files: filesContract,
  boards: { ...boardsContract, ...bundleContract, ...operatorBoardsContract, ...triggersContract },
  runs: { ...runsContract, ...operatorRunsContract },
  modules: { ...modulesContract, ...operatorModulesContract, ...moduleRunsContract },
  store: { ...storeContract, ...catalogueContract, ...storeInvitesContract },
  billing: { ...billingContract, ...ownBillingContract },
  marketplace: { ...marketplaceContract, ...marketplaceAdminContract, ...marketplacePublicContract, ...paymentsContract },
  vendor: { ...vendorContract, ...vendorMoneyContract },
  support: supportContract,
  automation: { ...automationContract, ...automationKeysContract },
  service: serviceContract,
} as const satisfies Record<string, Contract>
