import { basename } from 'node:path'
import { parse } from 'yaml'
import { ChatDomain, chatConfigPath, type PortableStack, portableStack, Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  type BoxSecrets,
  listPlainFolder,
  mountsOf,
  parseBoxSecrets,
  parseProbeAccount,
  readPlainFile,
  recordOf,
  resolvedCompose,
  softLogoutFile,
} from '../boxes/index.ts'
import type { ProbeAccount } from '../ports/index.ts'

/** The contents of a box's own files, read without following links. Each value is checked here or in core before use. */
export type PortableBox = Readonly<{
  stack: PortableStack
  /** Undefined unless each value has its form; new ones can only be made for a copy. */
  secrets: BoxSecrets | undefined
  probe: ProbeAccount | undefined
  minioRootUser: string | undefined
  serverName: string | undefined
  /** Everything that prevents a move, each with its fix. */
  findings: readonly string[]
}>

type Source = Readonly<{
  folder: string
  /** Its name counts, not its folder, which may be of another host. */
  composeFile: string
  templateFolder: string
}>

/** Throws FOLDER_UNSAFE for links, COMPOSE_INVALID for files that cannot be parsed. */
export async function readPortableBox({ folder, composeFile, templateFolder }: Source): Promise<PortableBox> {
  const name = basename(composeFile)
  const text = await readPlainFile(folder, name)
  if (text === undefined) throw problem('COMPOSE_INVALID', `The box has no compose file ${name}`)
  const compose = resolvedCompose(text)
  const services = recordOf(compose.services)
  const mounts = Object.fromEntries(Service.options.map((service) => [service, mountsOf(recordOf(services[service]))]))
  const configPath = chatConfigPath(compose, mounts)
  const config = configPath === undefined ? undefined : await readPlainFile(folder, configPath)
  const homeserver = config === undefined ? undefined : chatConfig(config)
  const stack = portableStack({ compose, mounts, homeserver })
  const secrets = parseBoxSecrets(await readPlainFile(folder, 'secrets/box.json'))
  const probe = await portableProbe(folder)
  const minioRootUser = (await readPlainFile(folder, 'secrets/minio/root-user'))?.trim()
  const serverName = ChatDomain.safeParse(recordOf(homeserver).server_name).data
  const wrong = wrongSecrets({ secrets, probe, minioRootUser })
  return {
    stack,
    secrets: secrets && wrongNames(secrets).length === 0 ? secrets : undefined,
    probe,
    minioRootUser: minioRootUser !== undefined && plain.test(minioRootUser) ? minioRootUser : undefined,
    serverName,
    findings: [
      ...(homeserver === undefined ? ['homeserver.yaml is in no folder of the box: mount the folder with it at /data of synapse'] : []),
      ...stack.dataFindings,
      ...stack.findings,
      ...wrong,
      ...(await edgeFindings(folder, templateFolder)),
    ],
  }
}

/** The probe account, which belongs to the database of the same snapshot; undefined unless valid. Throws FOLDER_UNSAFE for links. */
export async function portableProbe(folder: string): Promise<ProbeAccount | undefined> {
  const probe = parseProbeAccount(await readPlainFile(folder, 'secrets/probe.json'))
  return probe && isProbeAccount(probe) ? probe : undefined
}

function chatConfig(text: string): unknown {
  try {
    return parse(text, { merge: true, maxAliasCount: 200 })
  } catch (error) {
    throw problem('COMPOSE_INVALID', `homeserver.yaml is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

const plain = /^[A-Za-z0-9_.+/=@-]{3,200}$/
const anyText = /^[^\p{Cc}]{0,500}$/u

/** Forms of the secrets that a box keeps on its new host. The password of the database is made there if it has another form. */
const forms: Readonly<Record<Exclude<keyof BoxSecrets, 'boxId' | 'postgresPassword'>, RegExp>> = {
  edgeSecret: /^[A-Za-z0-9_-]{32,200}$/,
  minioRootPassword: plain,
  appserviceToken: plain,
  homeserverToken: plain,
  signingKeyId: /^[A-Za-z0-9_]{1,64}$/,
  signingKeySeed: /^[A-Za-z0-9+/]{43}$/,
  registrationSharedSecret: /^[^\p{Cc}]{1,500}$/u,
  macaroonSecret: anyText,
  formSecret: anyText,
}

const wrongNames = (secrets: BoxSecrets): string[] =>
  Object.entries(forms).flatMap(([name, form]) => (form.test(secrets[name as keyof BoxSecrets]) ? [] : [name]))

/** True for a secret that needs no escaping in any file of a box. */
export const isPlainSecret = (value: string): boolean => plain.test(value)

const isProbeAccount = ({ userId, accessToken, roomId }: ProbeAccount): boolean =>
  /^@[\w=./+-]{1,200}:[\w.:-]{1,255}$/.test(userId) && /^[\x21-\x7e]{1,500}$/.test(accessToken) && /^![\x21-\x7e]{1,300}$/.test(roomId)

type Read = Readonly<{ secrets: BoxSecrets | undefined; probe: ProbeAccount | undefined; minioRootUser: string | undefined }>

/** Findings name a secret and never show one. */
function wrongSecrets({ secrets, probe, minioRootUser }: Read): string[] {
  const names = secrets ? wrongNames(secrets).map((name) => `secrets/box.json: ${name}`) : ['secrets/box.json']
  return [
    ...names,
    ...(probe ? [] : ['secrets/probe.json']),
    ...(minioRootUser !== undefined && plain.test(minioRootUser) ? [] : ['secrets/minio/root-user']),
  ].map((what) => `${what} is missing or not valid: restore it from a snapshot of the box`)
}

const edgeFolder = 'edge/conf.d'

/** The edge is rendered on the new host; a rule of its own would be lost there. */
async function edgeFindings(folder: string, templateFolder: string): Promise<string[]> {
  const ours = [...(await listPlainFolder(templateFolder, edgeFolder)), basename(softLogoutFile)]
  const others = (await listPlainFolder(folder, edgeFolder)).filter((name) => /\.(conf|inc)$/.test(name) && !ours.includes(name))
  return others.map((name) => `${edgeFolder}/${JSON.stringify(name.slice(0, 80))} does not belong to the box template: remove it`)
}
