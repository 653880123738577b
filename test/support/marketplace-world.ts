import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { boardsContract, bundleContract, FlowBundle } from '../../src/core/boards/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { type Capability, isoNow, type manualClock, problem } from '../../src/core/kit/index.ts'
import {
  marketplaceAdminContract,
  marketplaceContract,
  marketplacePublicContract,
  type NewSubmission,
  vendorContract,
} from '../../src/core/marketplace/index.ts'
import { RoleBook } from '../../src/core/users/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { flowsFeature } from '../../src/daemon/flows/index.ts'
import { pageToken } from '../../src/daemon/http/index.ts'
import type { Mail } from '../../src/daemon/mail/mail.ts'
import {
  authenticateVendor,
  type MarketplaceDeps,
  type MarketplacePayments,
  marketplaceFeature,
  publishSeeds,
  vendorAccess,
} from '../../src/daemon/marketplace/index.ts'
import { packageRoot } from '../../src/node/index.ts'
import { anOperator } from './boxes-world.ts'
import { aModulesWorld } from './modules-world.ts'
import { servedApp } from './served-app.ts'
import { aTasksWorld, principalOf } from './tasks-world.ts'

export const aFlow = (): FlowBundle => FlowBundle.parse(parse(readFileSync(packageRoot('config/flows/visitor.yaml'), 'utf8')))

const shippedRoles = RoleBook.parse(parse(readFileSync(packageRoot('config/roles.yaml'), 'utf8')))

const unavailable = async (): Promise<never> => {
  throw problem('PAYMENTS_UNAVAILABLE', 'Paid items cannot be installed')
}

/** Free items work, paid ones cannot be installed. */
export const withoutPayments: MarketplacePayments = {
  currency: 'eur',
  vendorCreated: async () => {},
  priceChanged: async () => {},
  termsChanged: async () => {},
  endsChanged: async () => {},
  assertBuyable: unavailable,
  installPaid: unavailable,
  cancelled: async (_, { paidUntil }) => paidUntil,
}

/** A submission of a free flow, changed. */
export const aSubmission = (changed: object = {}) =>
  ({
    ...{ itemType: 'flow', name: 'Visitors', description: 'Welcomes visitors.', iconEmoji: '👋', category: 'organization' },
    ...{ vendorName: 'Ann', vendorEmail: 'ann@vendor.example', bundle: aFlow(), ...changed },
  }) as unknown as NewSubmission

export const anApp = (changed: object = {}) =>
  aSubmission({
    ...{ itemType: 'app', name: 'Attendance app' },
    bundle: { manifest: { moduleKey: 'attendance', featureFlag: 'attendance', permissions: ['spaces:read'] } },
    ...changed,
  })

/** An object store without a disk. */
export function objectsInMemory(): MarketplaceDeps['objects'] & Readonly<{ keys: () => string[] }> {
  const stored = new Map<string, Buffer>()
  async function* bytes(content: Buffer) {
    yield content
  }
  return {
    async put(key, content) {
      const parts: Uint8Array[] = []
      for await (const part of content) parts.push(part)
      stored.set(key, Buffer.concat(parts))
      return { bytes: stored.get(key)?.length ?? 0, sha256: '' }
    },
    get: async (key) => {
      const found = stored.get(key)
      return found && bytes(found)
    },
    remove: async (key) => void stored.delete(key),
    removeBelow: async () => {},
    look: async () => {},
    keys: () => [...stored.keys()],
  }
}

/** Capabilities of users of the tenants `one` and `two`. */
const held: Readonly<Record<string, Capability[]>> = {
  mia: ['manageMarketplace', 'manageModules', 'manageBoards', 'manageRuns'],
  tim: ['manageMarketplace', 'manageBoards', 'manageRuns'],
  olga: ['manageMarketplace', 'manageModules', 'manageBoards', 'manageRuns'],
}

type Changed = Readonly<{ isFirst?: boolean; clock?: ReturnType<typeof manualClock>; deps?: Partial<MarketplaceDeps> }>

/** The marketplace, modules and boards of the tenants `one` (mia, tim, anna) and `two` (olga). A second call is a second replica. */
export async function aMarketplaceWorld(db: Db, { deps: changed = {}, ...options }: Changed = {}) {
  const modules = await aModulesWorld(db, options)
  const tasks = await aTasksWorld(db, { isFirst: false, clock: modules.clock })
  const mails: Mail[] = []
  const deps: MarketplaceDeps = {
    ...{ ...modules.deps, roles: shippedRoles, roomsOf: tasks.roomsOf, ownRoomsOf: tasks.roomsOf, baseUrl: 'https://platform.example' },
    ...{ mailer: { send: async (mail) => String(mails.push(mail)) }, seedsDir: packageRoot('config/marketplace') },
    ...{ payments: withoutPayments, objects: objectsInMemory(), ...changed },
  }
  const authenticate = {
    platform: async (authorization: string | undefined) => {
      const id = authorization?.slice('Bearer '.length) ?? ''
      const user = await principalOf(db, id).catch(() => undefined)
      if (!user) throw problem('UNAUTHENTICATED', 'unknown')
      return { ...user, capabilities: held[id] ?? [] }
    },
    admin: async () => anOperator,
    vendor: authenticateVendor({ db, clock: modules.clock }),
    vendorPage: pageToken(vendorAccess(deps.baseUrl)),
  }
  const routes = [...(marketplaceFeature.routes?.(deps) ?? []), ...(flowsFeature.routes?.({ ...tasks, ...deps } as never) ?? [])]
  const { url } = await servedApp(routes, { authenticate, clock: modules.clock })
  const headers = { connection: 'close' }
  const stranger = makeClient({ ...marketplacePublicContract, ...vendorContract }, { baseUrl: url, headers: () => headers })
  const operator = makeClient(marketplaceAdminContract, { baseUrl: url, headers: () => headers })
  const as = (who: string) =>
    makeClient(
      { ...marketplaceContract, ...boardsContract, ...bundleContract },
      { baseUrl: url, headers: () => ({ authorization: `Bearer ${who}`, ...headers }) },
    )
  /** The client of an address, by a link of a mail. */
  const vendor = async (email: string) => {
    await stranger.sendVendorLink({ body: { email } }).catch(() => undefined)
    await runJobs()
    const link = mails.findLast(({ to, text }) => to === email.toLowerCase() && text.includes('/open?token='))
    const token = /open\?token=(\S+)/.exec(link?.text ?? '')?.[1] ?? ''
    const session = await stranger.openVendorSession({ body: { token } })
    const authorization = `Bearer ${session.token}`
    const client = makeClient(vendorContract, { baseUrl: url, headers: () => ({ authorization, ...headers }) })
    return { ...client, authorization, linkToken: token }
  }
  const jobs = { ...marketplaceFeature.jobs?.(deps) }

  /** Runs every queued job of the marketplace that is due. */
  async function runJobs(): Promise<void> {
    const due = await db.selectFrom('jobs').selectAll().where('status', '=', 'pending').orderBy('id').execute()
    for (const { id, topic, payload } of due.filter((job) => jobs[job.topic] && job.next_at <= isoNow(modules.clock))) {
      await jobs[topic]?.(JSON.parse(payload), { last: false })
      await db.deleteFrom('jobs').where('id', '=', id).execute()
    }
  }
  const audited = async () => (await db.selectFrom('audit').select('action').orderBy('seq').execute()).map(({ action }) => action)
  /** An approved item of a new vendor, an hour later: the limits of the intake do not count. */
  const published = async (submission: NewSubmission = aSubmission()) => {
    await modules.clock.advance(3_600_000)
    const { submissionId } = await stranger.submitItem({ body: submission })
    return (await operator.approveMarketplaceSubmission({ params: { id: submissionId }, body: {} })).item
  }
  const seeded = async () => {
    await publishSeeds(deps)
    return (await operator.listItems({})).items
  }
  return { db, clock: modules.clock, deps, url, mails, stranger, operator, as, vendor, runJobs, audited, published, seeded, modules }
}

export type MarketplaceWorld = Awaited<ReturnType<typeof aMarketplaceWorld>>
