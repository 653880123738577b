import { z } from 'zod'
import { ChatDomain, effectiveSettings, portableHomeserver } from '../../core/boxes/index.ts'
import { asJson, type Clock, problem, type Random } from '../../core/kit/index.ts'
import { type BoxSecrets, newBoxSecrets, readBoxSecrets } from '../boxes/index.ts'
import type { ContainerEngine, LocalBox, Project } from '../ports/index.ts'
import type { PortableBox } from '../rebuild/index.ts'
import { findChat } from './chat-evidence.ts'
import { python, secretsScript } from './chat-script.ts'
import { type SigningKey, withOldKeys } from './old-keys.ts'

const SigningKeyLine = z.tuple([z.literal('ed25519'), z.string().regex(/^[A-Za-z0-9_]{1,64}$/), z.string().regex(/^[A-Za-z0-9+/]{43}$/)])

const Secrets = z.object({
  signingKey: SigningKeyLine,
  otherSigningKeys: z.array(SigningKeyLine).max(50),
  macaroon_secret_key: z.string().min(1).nullable(),
  form_secret: z.string().min(1).nullable(),
  registration_shared_secret: z.string().min(1).nullable(),
  turn_shared_secret: z.string().min(1).nullable(),
})

type Reading = Readonly<{ engine: ContainerEngine; clock: Clock; random: Random; signal: AbortSignal }>

/** The settings and secrets of the running foreign chat server that its box gets. Throws BOX_UNHEALTHY. */
export async function foreignSettings(
  { engine, clock, random, signal }: Reading,
  { project, boxId }: Pick<LocalBox, 'project' | 'boxId'>,
): Promise<PortableBox> {
  const own = (await engine.hostContainers()).filter((one) => one.project === project.name)
  const { container, evidence } = await findChat(engine, own, signal)
  const values = Object.fromEntries([...effectiveSettings(evidence.config)].map(([key, { value }]) => [key, value]))
  const { secrets, otherKeys, turnSecret } = await secretsIn(
    { engine, signal, random },
    { id: container.id, name: container.name, boxId, project },
  )
  const old = otherKeys.length === 0 ? {} : { old_signing_keys: withOldKeys(values.old_signing_keys, otherKeys, clock.now()) }
  // It may be in a file of its own.
  const turn = turnSecret === null ? {} : { turn_shared_secret: turnSecret }
  const chat = portableHomeserver({ ...values, ...old, ...turn })
  return {
    stack: { chat, limits: {}, data: { synapse: 'media', minio: 'objects' }, findings: [], dataFindings: [] },
    secrets,
    probe: undefined,
    minioRootUser: undefined,
    serverName: ChatDomain.safeParse(values.server_name).data,
    findings: [],
  }
}

async function secretsIn(
  { engine, random, signal }: Omit<Reading, 'clock'>,
  { id, name, boxId, project }: Readonly<{ id: string; name: string; boxId: string; project: Project }>,
): Promise<Readonly<{ secrets: BoxSecrets; otherKeys: readonly SigningKey[]; turnSecret: string | null }>> {
  const { exitCode, stdout } = await engine.exec(id, python(secretsScript), { signal })
  const read = exitCode === 0 ? Secrets.safeParse(asJson(stdout)) : undefined
  // No cause: it would quote the secrets.
  if (!read?.success) throw problem('BOX_UNHEALTHY', `The signing key or the secrets of the chat server in ${name} cannot be read`)
  const { signingKey, otherSigningKeys, macaroon_secret_key, form_secret, registration_shared_secret } = read.data
  const made = newBoxSecrets(random, boxId)
  const former = await readBoxSecrets(project).catch(() => undefined)
  // The platform knows those of a box that was completed in place, and a return to it needs them.
  const known = former?.boxId === boxId ? former : made
  const { edgeSecret, appserviceToken, homeserverToken } = known
  const secrets = {
    ...made,
    ...{ edgeSecret, appserviceToken, homeserverToken },
    signingKeyId: signingKey[1],
    signingKeySeed: signingKey[2],
    macaroonSecret: macaroon_secret_key ?? made.macaroonSecret,
    formSecret: form_secret ?? made.formSecret,
    registrationSharedSecret: registration_shared_secret ?? made.registrationSharedSecret,
  }
  return { secrets, otherKeys: otherSigningKeys, turnSecret: read.data.turn_shared_secret }
}
