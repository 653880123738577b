import { chmod, chown, mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type Problem, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import type { BoxSecrets } from './box-secrets.ts'

/** What a box's files are rendered from, beside its secrets. */
type BoxFacts = Readonly<{
  slug: string
  boxId: string
  project: string
  chatDomain: string
  /** Without a slash at the end. */
  publicUrl: string
  images: Readonly<{ edge: string; synapse: string; postgres: string; minio: string }>
  ports: Readonly<{ public: number; platform: number; probe: number }>
  /** Addresses that the two outer listeners are published on; the probe listener is always on loopback. */
  binds: Readonly<{ public: string; platform: string }>
  maxUploadMegabytes: number
}>

/** Holds no secret and is run by the image's own user. */
const initFile = 'postgres/init/10-owner.sh'

/** The user that Synapse's image runs as. */
const synapseUid = 991

/** Writes all files of a box from the templates. The same facts and secrets give the same bytes, so it may be called again after a crash. */
export async function renderBox(templateFolder: string, folder: string, facts: BoxFacts, secrets: BoxSecrets): Promise<void> {
  const files = await renderedFiles(templateFolder, facts, secrets)
  await mkdir(join(folder, 'edge', 'fence'), { recursive: true, mode: 0o700 })
  for (const [path, content] of files) await writeBoxFile(folder, path, content)
  // nginx's workers look for the fence as a user of their own, and so does PostgreSQL for what it begins with.
  for (const shared of ['edge/fence', dirname(initFile)]) await chmod(join(folder, shared), 0o755)
  await giveSynapseItsFiles(folder, [...files.keys()])
}

/** The text of each file of a box by its path in the box's folder. */
export const renderedFiles = async (templateFolder: string, facts: BoxFacts, secrets: BoxSecrets): Promise<Map<string, string>> =>
  renderTemplates(await readTemplates(templateFolder), valuesOf(facts, secrets))

async function readTemplates(templateFolder: string): Promise<Map<string, string>> {
  const entries = await readdir(templateFolder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile() && entry.name !== 'README.md').map((entry) => join(entry.parentPath, entry.name))
  const read = async (path: string) => [relative(templateFolder, path), await readFile(path, 'utf8')] as const
  return new Map(await Promise.all(paths.sort().map(read)))
}

async function writeBoxFile(folder: string, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
  await writeFileAtomic(join(folder, path), content, { mode: path === initFile ? 0o755 : 0o600 })
}

async function giveSynapseItsFiles(folder: string, paths: readonly string[]): Promise<void> {
  // Without root (tests, rehearsals) everything stays with the agent's own user.
  if (process.getuid?.() !== 0) return
  const own = paths.filter((path) => path.startsWith('synapse/'))
  for (const path of ['synapse', ...own]) await chown(join(folder, path), synapseUid, synapseUid)
}

function valuesOf(facts: BoxFacts, secrets: BoxSecrets): Record<string, string> {
  const { boxId: _, ...rendered } = secrets
  return {
    project: facts.project,
    slug: facts.slug,
    boxId: facts.boxId,
    imageEdge: facts.images.edge,
    imageSynapse: facts.images.synapse,
    imagePostgres: facts.images.postgres,
    imageMinio: facts.images.minio,
    volumePostgres: `${facts.project}-postgres`,
    volumeMedia: `${facts.project}-media`,
    volumeObjects: `${facts.project}-objects`,
    publicBind: facts.binds.public,
    publicPort: String(facts.ports.public),
    platformBind: facts.binds.platform,
    platformPort: String(facts.ports.platform),
    probePort: String(facts.ports.probe),
    publicUrl: facts.publicUrl,
    chatDomain: facts.chatDomain,
    chatDomainPattern: facts.chatDomain.replaceAll('.', '\\.'),
    maxUploadMegabytes: String(facts.maxUploadMegabytes),
    minioRootUser: facts.project,
    ...rendered,
  }
}

/** Names in `{{ }}` are all that a template can hold: no logic, no nesting. */
const placeholder = /\{\{([A-Za-z][A-Za-z0-9]*)\}\}/g

const broken = (reason: string): Problem => problem('CONFIG_INVALID', `the box template ${reason}`)

/**
 * Fills a set of templates. A placeholder without a value, a value that no template uses, and a value that could end a quoted
 * string are all errors: a template and its agent come in one package and must fit. Throws CONFIG_INVALID or VALIDATION.
 */
export function renderTemplates(templates: ReadonlyMap<string, string>, values: Readonly<Record<string, string>>): Map<string, string> {
  for (const [name, value] of Object.entries(values)) needPlainValue(name, value)
  const used = new Set<string>()
  const rendered = new Map([...templates].map(([path, text]) => [path, render(path, text, values, used)]))
  const unused = Object.keys(values).filter((name) => !used.has(name))
  if (unused.length > 0) throw broken(`has no place for ${unused.join(', ')}`)
  return rendered
}

function render(path: string, text: string, values: Readonly<Record<string, string>>, used: Set<string>): string {
  const filled = text.replace(placeholder, (_, name: string) => {
    if (!Object.hasOwn(values, name)) throw broken(`wants {{${name}}} in ${path}, which nobody knows`)
    used.add(name)
    return values[name] ?? ''
  })
  if (text.replace(placeholder, '').includes('{{')) throw broken(`has braces in ${path} that are no {{name}}`)
  return filled
}

/** Values stand inside quotes of YAML, nginx and JSON: none may hold a quote, a brace, a space or a control character. */
function needPlainValue(name: string, value: string): void {
  if (value === '' || /[^\x21-\x7e]|["'`{};$#]/.test(value))
    throw problem('VALIDATION', `the value of ${name} cannot stand in a box's files`)
}
