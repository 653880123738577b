import { type BoxCommandPayload, boxCommands, noMigrations } from '../../core/boxes/index.ts'
import { type Clock, type Random, secret } from '../../core/kit/index.ts'
import type { BoxServers, CommandContext, CommandExecutor, ContainerEngine, LocalBox } from '../ports/index.ts'
import { type BoxSecrets, writeProbeAccount } from './box-secrets.ts'
import { bringImages } from './bring-images.ts'
import { needAllowedImage } from './image-allow-list.ts'
import { layOut } from './lay-out.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { applyMigrations, migrationsFor } from './migrate-box.ts'
import { reportVersions } from './report-versions.ts'
import { waitForService } from './wait-for-service.ts'
import { waitUntilStable } from './wait-until-stable.ts'

export type Provision = BoxCommandPayload<'tenant-box.provision'>

/** What the agent's own config says about boxes of this host. */
export type BoxSettings = Readonly<{
  /** Each box has a folder of its slug in it. */
  boxesFolder: string
  /** What the names of compose projects begin with; `box-` unless given. Hosts that share an engine need different ones. */
  projectPrefix?: string
  templateFolder: string
  allowedImages: readonly string[]
  binds: Readonly<{ public: string; platform: string }>
  maxUploadMegabytes: number
}>

export type ProvisionDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  clock: Clock
  random: Random
  boxes: LocalBoxes
  settings: BoxSettings
  portInUse(port: number): Promise<boolean>
}>

/**
 * Makes a box, from nothing to proven healthy. Each step looks at what is there first, so that the command may be killed at any line
 * and called again: secrets are made once, files rendered to the same bytes, containers left alone when they are right.
 */
export const provision =
  (deps: ProvisionDeps): CommandExecutor<'tenant-box.provision'> =>
  async (context, given) => {
    const payload = boxCommands['tenant-box.provision'].payload.parse(given)
    for (const image of Object.values(payload.images)) needAllowedImage(deps.settings.allowedImages, image)
    context.progress({ step: 'files' })
    const { box, secrets } = await layOut(deps, payload)
    await pullMissing(deps, context, payload)
    await startAll(deps, context, box, payload.migrationsHead ?? noMigrations)
    await makeProbeAccount(deps, context, box, secrets)
    const { edgeSecret, appserviceToken, registrationSharedSecret } = secrets
    await context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret })
    const probe = await waitUntilStable(deps, box, {
      rule: payload.probe,
      signal: context.signal,
      onProbe: ({ reason }, good) =>
        context.progress({
          step: 'probe',
          detail: reason ?? `${good} of ${payload.probe.consecutive} good`,
          percent: (100 * good) / payload.probe.consecutive,
        }),
    })
    const managed = { ...box, managed: true }
    await deps.boxes.put(managed)
    return { report: await reportVersions(deps, managed), probe }
  }

/** What is here stays what it is: whoever provisions names tags. */
async function pullMissing({ engine, clock, settings }: ProvisionDeps, context: CommandContext, { images }: Provision): Promise<void> {
  const { signal } = context
  for (const image of Object.values(images)) {
    signal.throwIfAborted()
    if ((await engine.localDigest(image)) !== undefined) continue
    const { allowedImages } = settings
    await bringImages({ engine, clock, allowedImages }, { images: { [image]: { image } }, step: 'pull', context, signal })
  }
}

/** The database first: a Synapse without one dies, and its restarts would look like a fault. */
async function startAll(deps: ProvisionDeps, context: CommandContext, box: LocalBox, head: string): Promise<void> {
  const { engine, servers } = deps
  context.progress({ step: 'database' })
  await engine.up(box.project, ['postgres', 'minio'], context.signal)
  await waitForService(deps, context, box, 'postgres', () => servers.databaseReady(box))
  if (head !== noMigrations) await applyMigrations(deps, context, box, await migrationsFor(deps, context, box, head))
  context.progress({ step: 'chat' })
  await engine.up(box.project, ['synapse', 'edge'], context.signal)
  await waitForService(deps, context, box, 'synapse', async () => (await servers.serverVersions(box)).synapse !== undefined)
}

async function makeProbeAccount({ servers }: ProvisionDeps, context: CommandContext, box: LocalBox, secrets: BoxSecrets): Promise<void> {
  context.progress({ step: 'probe-user' })
  await writeProbeAccount(box.project, await servers.createProbeAccount(box, secret(secrets.appserviceToken), context.signal))
}
