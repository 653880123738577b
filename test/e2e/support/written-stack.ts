import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { parse } from 'yaml'
import { dockerEnvironment, type Testbed } from '../../testbed/testbed.ts'
import type { ReachableBox } from './conversation.ts'
import { ownSubnet } from './ports.ts'
import { eventually } from './programs.ts'

// The stacks of `test/import-stacks` as their owners wrote them, filled in and started the way their owners start them.

const root = resolve(import.meta.dirname, '../../import-stacks')

/** `stack.yaml` of a stack: what it is, how it starts, and the volumes made before. */
export type StackSpec = Readonly<{
  name: string
  about: string
  up: readonly string[]
  volumes: readonly string[]
}>

export async function stackSpecs(): Promise<StackSpec[]> {
  const names = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const specs = names.toSorted().map(async (name) => ({
    ...{ name, up: ['up', '-d'], volumes: [] },
    ...(parse(await readFile(join(root, name, 'stack.yaml'), 'utf8')) as Omit<StackSpec, 'name'>),
  }))
  return Promise.all(specs)
}

export type WrittenStack = Readonly<{
  spec: StackSpec
  slug: string
  chatDomain: string
  folder: string
  /** The chat server itself, before it has an edge. */
  open: ReachableBox
  /** Every file of the owner, byte for byte. */
  files(): Promise<Readonly<Record<string, string>>>
  /** Name and id of each container of the project. */
  containers(): Promise<string[]>
  /** Ends the containers at once; they and their volumes stay. */
  stop(): Promise<void>
}>

type Where = Readonly<{ testbed: Testbed; folder: string; slug: string; port: number }>

const password = 'correct-horse-battery-staple'

/** Writes the files of the stack and starts it with plain `docker compose` in its folder. */
export async function startStack(spec: StackSpec, { testbed, folder, slug, port }: Where): Promise<WrittenStack> {
  const { images, registry, docker } = testbed
  const chatDomain = `${slug}.test`
  const values: Readonly<Record<string, string>> = {
    ...{ slug, chatDomain, registry, password, port: String(port) },
    net: String(ownSubnet()),
    synapse: images['synapse-1.157.1'].ref,
    synapseTag: images['synapse-1.157.1'].tag,
    synapseByDigest: `${images['synapse-1.157.1'].repository}@${images['synapse-1.157.1'].digest}`,
    postgres: images.postgres.ref,
    minio: images.minio.ref,
    edge: images.edge.ref,
    synapseOld: images['synapse-1.97.0'].ref,
    postgres17: images['postgres-17'].ref,
  }
  const filled = (text: string) => text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? `{{${name}}}`)
  const lay = async (from: string, to: string) => {
    // Other users of containers read what is bound into them.
    const isShared = dirname(to) !== folder && dirname(to) !== join(folder, 'synapse')
    await mkdir(dirname(to), { recursive: true, mode: isShared ? 0o755 : 0o700 })
    await writeFile(to, filled(await readFile(from, 'utf8')), { mode: isShared ? 0o644 : 0o600 })
  }
  const source = join(root, spec.name)
  const own = (await readdir(source, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'stack.yaml')
    .map(({ parentPath, name }) => join(parentPath, name).slice(source.length + 1))
  const [after, first] = [own.filter((path) => path.startsWith('after/')), own.filter((path) => !path.startsWith('after/'))]
  for (const path of first) await lay(join(source, path), join(folder, path))
  if (!first.includes('synapse/homeserver.yaml')) await lay(join(root, 'homeserver.yaml'), join(folder, 'synapse/homeserver.yaml'))
  // The second one was in use before.
  const keys = Object.entries({ a_hand: 9, a_old: 8 }).map(
    ([id, byte]) => `ed25519 ${id} ${Buffer.alloc(32, byte).toString('base64').replaceAll('=', '')}\n`,
  )
  await writeFile(join(folder, 'synapse/signing.key'), keys.join(''), { mode: 0o600 })
  await chmod(folder, 0o700)
  const chatFiles = first.filter((path) => path.startsWith('synapse/'))
  for (const path of new Set(['synapse', 'synapse/homeserver.yaml', 'synapse/signing.key', ...chatFiles]))
    await chown(join(folder, path), 991, 991)

  const call = (args: readonly string[]) => execa(docker, args, { cwd: folder, env: dockerEnvironment(testbed), extendEnv: false })
  for (const volume of spec.volumes) await call(['volume', 'create', '--label', `com.docker.compose.project=${slug}`, filled(volume)])
  await call(['compose', '--project-name', slug, ...spec.up])
  const listed = async (format: string) => {
    const { stdout } = await call(['ps', '-a', '--no-trunc', '--filter', `label=com.docker.compose.project=${slug}`, '--format', format])
    return stdout.split('\n').filter(Boolean).toSorted()
  }
  const url = `http://127.0.0.1:${port}`
  await eventually(`${spec.name} answers`, async () => (await fetch(`${url}/health`)).ok)
  for (const path of after) await lay(join(source, path), join(folder, path.slice('after/'.length)))

  const owned = [...new Set([...first, ...after.map((path) => path.slice('after/'.length)), 'synapse/homeserver.yaml'])]
  return {
    ...{ spec, slug, chatDomain, folder },
    open: { slug, folder, publicUrl: url, platformUrl: url, edgeSecret: 'none', sharedSecret: 'shared-secret-of-the-school' },
    files: async () => Object.fromEntries(await Promise.all(owned.map(async (path) => [path, await readFile(join(folder, path), 'utf8')]))),
    containers: () => listed('{{.Names}} {{.ID}}'),
    stop: async () => {
      await call(['stop', '-t', '0', ...(await listed('{{.ID}}'))])
    },
  }
}
