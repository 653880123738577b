import { templateOf } from '../../src/cli/modules/template.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { type Capability, type PlatformPrincipal, problem } from '../../src/core/kit/index.ts'
import { catalogueContract, storeContract, storeInvitesContract } from '../../src/core/store/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { Mail, Mailer } from '../../src/daemon/mail/mail.ts'
import { authenticateDeveloper, openExaminer, storeFeature } from '../../src/daemon/modules/index.ts'
import type { ObjectStore } from '../../src/daemon/objects/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { zipOf } from '../../src/node/module-package/index.ts'
import { aKeyring } from './admin-world.ts'
import { anOperator } from './boxes-world.ts'
import { compiled } from './compiled-program.ts'
import { aFilesWorld } from './files-world.ts'
import { aFolder } from './running-daemon.ts'
import { servedApp } from './served-app.ts'

/** A package with the files of a new module, changed: `manifest` by field, `files` by name. */
export async function aPackage({ id = 'attendance', manifest = {}, files = {} }: Changed = {}) {
  const template = await templateOf(id)
  const changed = { ...JSON.parse(template['module.json'] as string), ...manifest }
  const all = { ...template, 'module.json': JSON.stringify(changed), ...files }
  const zip = await zipOf(Object.entries(all).map(([name, text]) => ({ name, bytes: Buffer.from(text) })))
  return { manifest: changed as Record<string, unknown>, zip }
}
type Changed = Readonly<{ id?: string; manifest?: object; files?: Record<string, string> }>

/** Compiled when the test file loads: that may take longer than a test. */
const workers = { scan: compiled('node/module-package/scan-program.js'), sandbox: compiled('node/sandbox/worker.js') }

type Options = Readonly<{ testMs?: number; registration?: 'open' | 'invite' | 'closed'; objects?: ObjectStore }>

/** The store over an empty database, with real scan and sandbox, and the users anna, ben (manageModules) and rita (reviewStore) of `acme`. */
export async function aStoreWorld(db: Db, { testMs = 60_000, registration = 'invite', objects }: Options = {}) {
  const files = await aFilesWorld(db)
  const mails: Mail[] = []
  const mailer: Mailer = {
    send: async (mail) => {
      mails.push(mail)
      return 'kept'
    },
  }
  const deps = {
    ...files,
    ...(objects && { objects }),
    mailer,
    registration,
    currency: 'eur',
    log: silentLogger(),
    keyring: aKeyring(),
    baseUrl: '',
    dataDir: await aFolder('store'),
    ...openExaminer({ ...workers, testMs }),
  }
  const users = new Map<string, PlatformPrincipal>()
  const held: Record<string, Capability[]> = { anna: ['manageModules', 'reviewStore'], ben: ['manageModules'], rita: ['reviewStore'] }
  for (const [name, capabilities] of Object.entries(held)) users.set(name, await files.aUser(name, { capabilities, inChat: false }))
  const platform = async (authorization: string | undefined) => {
    const user = users.get(authorization?.slice('Bearer '.length) ?? '')
    if (!user) throw problem('UNAUTHENTICATED', 'unknown')
    return user
  }
  const admin = async (authorization: string | undefined) => {
    if (authorization !== 'Bearer root') throw problem('UNAUTHENTICATED', 'unknown')
    return anOperator
  }
  const authenticate = { platform, developer: authenticateDeveloper({ db }), admin }
  const { url } = await servedApp(storeFeature.routes?.(deps) ?? [], { authenticate, clock: files.clock })
  const contract = { ...storeContract, ...catalogueContract, ...storeInvitesContract }
  const as = (name: string, developerId?: string) =>
    makeClient(contract, {
      baseUrl: url,
      headers: () => ({ authorization: `Bearer ${name}`, connection: 'close', ...(developerId ? { 'x-developer-id': developerId } : {}) }),
    })

  /** Registers a user with a new code; the client sends its header. */
  async function aDeveloper(name: string) {
    const { code } = await as('root').createStoreInvite()
    const given = { inviteCode: code, email: `${name}@example.org`, name, organization: 'Acme' }
    const account = await as(name).registerDeveloper({ body: given })
    return { ...as(name, account.id), account, code }
  }
  const upload = async (developer: ReturnType<typeof as>, changed: Changed = {}) => {
    const { zip, manifest } = await aPackage(changed)
    return developer.uploadModule({ upload: formOf(zip, manifest) })
  }
  /** Uploads a package that rita approves. */
  const listed = async (developer: ReturnType<typeof as>, changed: Changed = {}) => {
    const made = await upload(developer, changed)
    await as('rita').reviewSubmission({ params: { id: made.submissionId }, body: { action: 'approve' } })
    return made
  }
  const audited = async () => (await db.selectFrom('audit').select('action').orderBy('seq').execute()).map(({ action }) => action)
  const cleanUp = () => storeFeature.cleanup?.(deps)[0]?.(new AbortController().signal)
  const jobs = storeFeature.jobs?.(deps) ?? {}
  return { ...deps, mails, jobs, url, as, aDeveloper, upload, listed, audited, cleanUp, stored: files.kept }
}

export const formOf = (zip: Uint8Array, manifest: unknown) => ({
  content: new Blob([zip as Uint8Array<ArrayBuffer>]),
  fileName: 'module.zip',
  fields: { manifest: typeof manifest === 'string' ? manifest : JSON.stringify(manifest) },
})
