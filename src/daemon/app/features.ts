import { packageRoot } from '../../node/index.ts'
import { adminFeature } from '../admin/index.ts'
import { alertsFeature } from '../alerts/index.ts'
import { auditFeature } from '../audit/index.ts'
import { authFeature } from '../auth/index.ts'
import { automationFeature } from '../automation/index.ts'
import { bootstrapFeature } from '../bootstrap/index.ts'
import { boxesFeature, commandsOfLifecycle, commandsOfSetUp } from '../boxes/index.ts'
import { brandingFeature } from '../branding/index.ts'
import { contactsFeature } from '../contacts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { eventsFeature } from '../events/index.ts'
import { type Feature, withDeps } from '../feature/index.ts'
import { filesFeature, spacesWithFiles } from '../files/index.ts'
import { flowPorts, flowsFeature, runTasks } from '../flows/index.ts'
import { homeserverFeature } from '../homeserver/index.ts'
import { deleteEndedInvites, hostsFeature } from '../hosts/index.ts'
import { limitsFeature } from '../limits/index.ts'
import { makeMailer } from '../mail/index.ts'
import { maintenanceFeature } from '../maintenance/index.ts'
import {
  activateInstalled,
  type BundlePlan,
  cancelInstallation,
  type MarketplaceDeps,
  marketplaceFeature,
  planBundle,
  storeInstallation,
} from '../marketplace/index.ts'
import {
  callModuleService,
  moduleHost,
  moduleRunsFeature,
  moduleServicesFeature,
  modulesFeature,
  openExaminer,
  storeFeature,
} from '../modules/index.ts'
import { noticesFeature } from '../notices/index.ts'
import { type PaymentsDeps, paymentsFeature, paymentsOfMarketplace } from '../payments/index.ts'
import { peopleFeature } from '../people/index.ts'
import { privacyFeature } from '../privacy/index.ts'
import { profileFeature } from '../profile/index.ts'
import { commandsOfRollouts, rolloutsFeature } from '../rollouts/index.ts'
import { schoolFeature } from '../school/index.ts'
import { serviceFeature } from '../service/index.ts'
import { sessionsFeature } from '../sessions/index.ts'
import { commandsOfRestores, snapshotsFeature } from '../snapshots/index.ts'
import { roomsOfTenant, spacesFeature } from '../spaces/index.ts'
import { supportFeature } from '../support/index.ts'
import { tasksFeature } from '../tasks/index.ts'
import { tenantsFeature } from '../tenants/index.ts'
import { usersFeature } from '../users/index.ts'
import { workFeature } from '../work/index.ts'
import { billingDeps } from './billing-deps.ts'
import type { Deps } from './deps.ts'
import { privacyDeps } from './privacy-deps.ts'

/**
 * Every feature of the daemon. If `Deps` has all dependencies of a feature by name, it is listed alone; otherwise `withDeps` maps them.
 * Requests are matched in this order among paths of the same form: the bootstrap document, which clients request first, comes first.
 */
export const features: readonly Feature<Deps>[] = [
  bootstrapFeature,
  withDeps(serviceFeature, (deps: Deps) => ({
    ...deps,
    ...deps.boxes,
    maxBoxes: deps.config.metrics.maxBoxes,
    installation: deps.config.installation.name,
  })),
  authFeature,
  withDeps(adminFeature, ({ admin }: Deps) => ({ ...admin, deleteEndedInvites })),
  withDeps(auditFeature, ({ audit }: Deps) => audit),
  withDeps(alertsFeature, ({ alerts }: Deps) => alerts),
  workFeature,
  withDeps(rolloutsFeature, ({ rollouts }: Deps) => rollouts),
  withDeps(boxesFeature, ({ boxes, log, owner }: Deps) => ({ ...boxes, log, owner })),
  withDeps(snapshotsFeature, ({ snapshots }: Deps) => snapshots),
  withDeps(sessionsFeature, ({ sessions }: Deps) => sessions),
  withDeps(schoolFeature, ({ sessions, school }: Deps) => ({ ...sessions, school })),
  withDeps(eventsFeature, ({ events }: Deps) => events),
  withDeps(tasksFeature, (deps: Deps) => ({ ...deps, runTasks: runTasks(withTimeZone(deps)) })),
  withDeps(noticesFeature, ({ users }: Deps) => users),
  withDeps(flowsFeature, (deps: Deps) => ({ ...withTimeZone(deps), ...flowPorts(withTimeZone(deps)) })),
  withDeps(filesFeature, ({ files }: Deps) => files),
  withDeps(brandingFeature, ({ files }: Deps) => files),
  withDeps(storeFeature, ({ clock, files, keyring, config }: Deps) => ({
    ...{ ...files, keyring, baseUrl: config.baseUrl, dataDir: config.dataDir },
    ...{ mailer: makeMailer(clock, config), registration: config.store.registration },
    currency: config.payments.currency,
    ...openExaminer(),
  })),
  withDeps(marketplaceFeature, marketplaceDeps),
  withDeps(paymentsFeature, (deps: Deps) => ({ ...billingDeps(deps), ...paymentsDeps(deps) })),
  withDeps(modulesFeature, (deps: Deps) => ({ ...deps, ...moduleHost(deps) })),
  withDeps(moduleServicesFeature, ({ services }: Deps) => services),
  withDeps(moduleRunsFeature, ({ moduleRuns, services }: Deps) => ({
    ...moduleRuns,
    callService: (call: Parameters<typeof callModuleService>[1]) => callModuleService(services, call),
  })),
  withDeps(automationFeature, ({ files, users, roles, clock, random, config: { timeZone } }: Deps) => ({
    ...{ ...users, ...files, roles, timeZone },
    runTasks: runTasks({ clock, random, timeZone }),
  })),
  withDeps(spacesFeature, ({ users }: Deps) => ({ ...users, isReferenced: spacesWithFiles })),
  withDeps(hostsFeature, ({ hosts, declared }: Deps) => ({ ...hosts, commandsInUse, cleanups: () => declared().cleanups })),
  withDeps(tenantsFeature, ({ boxes, fileUsageOf }: Deps) => ({ ...boxes, fileUsageOf })),
  withDeps(usersFeature, ({ users }: Deps) => users),
  withDeps(peopleFeature, ({ users, keyring, revocations, config, clock }: Deps) => ({
    ...{ ...users, keyring, revocations, baseUrl: config.baseUrl },
    mailer: mailerForUsers(clock, config),
  })),
  withDeps(maintenanceFeature, ({ db, clock, random, log, roles, config, rollouts }: Deps) => ({
    ...{ db, clock, random, log, roles, windows: rollouts.windows, baseUrl: config.baseUrl },
    leadMs: config.maintenance.leadHours * 3_600_000,
    mailer: mailerForUsers(clock, config),
  })),
  withDeps(privacyFeature, privacyDeps),
  withDeps(homeserverFeature, ({ db, clock, networks }: Deps) => ({ db, clock, networks })),
  profileFeature,
  contactsFeature,
  supportFeature,
  withDeps(limitsFeature, ({ budgets }: Deps) => budgets),
]

/** Runs and triggers work in the time zone of the platform where a tenant has none. */
function withTimeZone(deps: Deps) {
  return { ...deps, homeservers: deps.users.homeservers, timeZone: deps.config.timeZone }
}

/** Without settings mails end in a folder of the daemon, which no user reads. */
const mailerForUsers = (clock: Deps['clock'], config: Deps['config']) =>
  config.mail.smtp !== undefined || config.mail.folder !== undefined ? makeMailer(clock, config) : undefined

/** The dependencies of the marketplace without its payments. */
function shopDeps(deps: Deps): Omit<MarketplaceDeps, 'payments'> {
  const { clock, config } = deps
  return {
    ...{ ...deps, ...moduleHost(deps), roomsOf: roomsOfTenant, baseUrl: config.baseUrl },
    ...{ mailer: makeMailer(clock, config), seedsDir: packageRoot('config/marketplace'), objects: deps.files.objects },
  }
}

function marketplaceDeps(deps: Deps): MarketplaceDeps {
  return { ...shopDeps(deps), payments: paymentsOfMarketplace(paymentsDeps(deps)) }
}

/** A paid item is installed like a free one. */
function paymentsDeps(deps: Deps): PaymentsDeps {
  const shop = shopDeps(deps)
  const { baseUrl, payments } = deps.config
  return {
    ...{ ...deps, baseUrl, currency: payments.currency, automaticTax: payments.automaticTax },
    bundles: {
      plan: (tenant, item) => planBundle(shop, tenant, item),
      store: (tx, { plan, ...input }) => storeInstallation(shop, tx, { ...input, plan: plan as BundlePlan }),
      activate: (actor, subscription) => activateInstalled(shop, actor, subscription),
      end: async (tx, input) => {
        await cancelInstallation(shop, tx, { ...input, verb: 'payment-deleted', paidUntil: null })
      },
    },
  }
}

/** Every column that holds sealed secrets. */
export const sealedColumns = features.flatMap(({ sealed = [] }) => sealed)

/** Commands whose results a feature may still read, however old they are. */
const commandsInUse = async (db: DbOrTx) => [
  ...(await commandsOfRollouts(db)),
  ...(await commandsOfSetUp(db)),
  ...(await commandsOfRestores(db)),
  ...(await commandsOfLifecycle(db)),
]
