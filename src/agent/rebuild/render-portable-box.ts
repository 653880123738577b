import { mkdir, rm } from 'node:fs/promises'
import { parse, parseDocument } from 'yaml'
import { canonicalJson, type Random } from '../../core/kit/index.ts'
import {
  type BoxSecrets,
  newBoxSecrets,
  type RenderFacts,
  recordOf,
  renderedFiles,
  writeBoxFiles,
  writeBoxSecrets,
  writeProbeAccount,
} from '../boxes/index.ts'
import type { Project } from '../ports/index.ts'
import { isPlainSecret, type PortableBox } from './portable-box.ts'

type Deps = Readonly<{ random: Random; templateFolder: string }>
type Rendering = Readonly<{
  portable: PortableBox
  project: Project
  /** All of this host's own choice, or checked by the caller. */
  facts: Omit<RenderFacts, 'project' | 'minioRootUser'>
  /** More ports of the edge, as a compose file names them. */
  published?: readonly string[]
}>

/**
 * Writes the files of a box into an empty folder of this host: its own box template with the settings and secrets that the box takes along.
 * A box without valid secrets gets new ones.
 */
export async function renderPortableBox(deps: Deps, { portable, project, facts, published = [] }: Rendering): Promise<void> {
  const { stack, minioRootUser, probe } = portable
  const secrets = secretsOf(deps.random, portable, facts.boxId)
  const files = await renderedFiles(
    deps.templateFolder,
    {
      ...facts,
      project: project.name,
      maxUploadMegabytes: stack.chat.maxUploadMegabytes ?? facts.maxUploadMegabytes,
      ...(minioRootUser === undefined ? {} : { minioRootUser }),
    },
    { ...secrets, ...templateValues(secrets) },
  )
  const chat = { ...stack.chat.settings, ...otherChatSecrets(secrets) }
  const limits = Object.entries(stack.limits).flatMap(([service, keys]) =>
    Object.entries(keys).map(([key, value]) => [['services', service, key], value] as const),
  )
  change(
    files,
    'synapse/homeserver.yaml',
    Object.entries(chat).map(([key, value]) => [[key], value] as const),
  )
  change(files, 'compose.yaml', published.length > 0 ? [...limits, [edgePorts, [...portsIn(files), ...published]]] : limits)
  await rm(project.folder, { recursive: true, force: true })
  await mkdir(project.folder, { recursive: true, mode: 0o700 })
  await writeBoxFiles(project.folder, files)
  await writeBoxSecrets(project, secrets)
  if (probe) await writeProbeAccount(project, probe)
}

const edgePorts = ['services', 'edge', 'ports']

const portsIn = (files: ReadonlyMap<string, string>): unknown[] =>
  recordOf(recordOf(recordOf(parse(files.get('compose.yaml') ?? '', { merge: true })).services).edge).ports as unknown[]

/** Only the box itself knows the password of its database, so a password of an unusual form is replaced. */
function secretsOf(random: Random, { secrets }: PortableBox, boxId: string): BoxSecrets {
  const made = newBoxSecrets(random, boxId)
  if (!secrets) return made
  return {
    ...secrets,
    boxId,
    postgresPassword: isPlainSecret(secrets.postgresPassword) ? secrets.postgresPassword : made.postgresPassword,
    macaroonSecret: secrets.macaroonSecret || made.macaroonSecret,
    formSecret: secrets.formSecret || made.formSecret,
  }
}

/** Secrets of the chat server that may have any form, by their key in its config. */
const chatSecrets = {
  macaroonSecret: 'macaroon_secret_key',
  formSecret: 'form_secret',
  registrationSharedSecret: 'registration_shared_secret',
} as const
type ChatSecret = keyof typeof chatSecrets
const otherSecrets = (secrets: BoxSecrets): ChatSecret[] =>
  (Object.keys(chatSecrets) as ChatSecret[]).filter((name) => !isPlainSecret(secrets[name]))

/** The template takes only plain values; the others are set in the parsed file. */
const templateValues = (secrets: BoxSecrets): Partial<BoxSecrets> =>
  Object.fromEntries(otherSecrets(secrets).map((name) => [name, 'set-below']))
const otherChatSecrets = (secrets: BoxSecrets): Record<string, string> =>
  Object.fromEntries(otherSecrets(secrets).map((name) => [chatSecrets[name], secrets[name]]))

/** Sets values in a rendered file; one that needs no change stays byte for byte. */
function change(files: Map<string, string>, path: string, values: readonly (readonly [path: readonly string[], value: unknown])[]): void {
  const text = files.get(path) as string
  const now = parse(text, { merge: true })
  const at = (keys: readonly string[]) => keys.reduce<unknown>((value, key) => recordOf(value)[key], now)
  const requested = values.filter(([keys, value]) => canonicalJson(at(keys) ?? null) !== canonicalJson(value))
  if (requested.length === 0) return
  const document = parseDocument(text)
  for (const [keys, value] of requested) document.setIn(keys, document.createNode(value))
  files.set(path, document.toString({ lineWidth: 0 }))
}
