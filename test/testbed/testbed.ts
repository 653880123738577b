// Describes the test bed made by up.sh: engine, tools and images. Reads one file and starts nothing.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

export interface TestbedImage {
  /** Without the tag: `127.0.0.1:5055/tenantry/synapse`. */
  readonly repository: string
  readonly tag: string
  /** `repository:tag` */
  readonly ref: string
  /** Digest of the manifest in the registry, `sha256:…`. */
  readonly digest: string
}

export type TestbedImageKey =
  | 'synapse-1.97.0'
  | 'synapse-1.157.1'
  | 'synapse-1.163.2'
  | 'synapse-broken'
  | 'synapse-dies'
  | 'postgres'
  | 'postgres-17'
  | 'minio'
  | 'minio-former'
  | 'edge'

export interface Testbed {
  readonly cache: string
  /** As for DOCKER_HOST: `unix://…`. */
  readonly dockerHost: string
  readonly dockerSocket: string
  /** False where up.sh found an engine and used it; then down.sh leaves its containers alone. */
  readonly ownEngine: boolean
  /** The docker CLI. */
  readonly docker: string
  /** As for DOCKER_CONFIG; holds the compose plugin, so that the user's own folder is left alone. */
  readonly dockerConfig: string
  readonly composePlugin: string
  readonly restic: string
  /** Host and port, plain HTTP. */
  readonly registry: string
  readonly images: Readonly<Record<TestbedImageKey, TestbedImage>>
}

const cacheFolder = () => process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed'
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

export const testbedExists = (): boolean => existsSync(`${cacheFolder()}/testbed.json`)

/** Throws with the command to type when there is no test bed. */
export function readTestbed(): Testbed {
  if (!testbedExists()) throw new Error(`There is no test bed in ${cacheFolder()}; run test/testbed/up.sh as root`)
  return JSON.parse(readFileSync(`${cacheFolder()}/testbed.json`, 'utf8')) as Testbed
}

/** The whole environment of a docker or compose process; nothing of the caller's own gets in. */
export const dockerEnvironment = (testbed: Testbed) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  DOCKER_HOST: testbed.dockerHost,
  DOCKER_CONFIG: testbed.dockerConfig,
})

/** `compose(testbed, box.folder)('up', '-d')`, as an operator would type it in the box's folder. */
export const compose =
  (testbed: Testbed, folder: string) =>
  (...args: string[]) =>
    execa(testbed.docker, ['compose', '--project-directory', folder, '--file', `${folder}/compose.yaml`, ...args], {
      env: dockerEnvironment(testbed),
      extendEnv: false,
    })

/**
 * Makes a tag appear in the registry: `pushTag('edge', '1.22.1', '1.22.2', { relabel: true })`. Returns the digest behind it.
 * Plain it is a second name of the same image; relabelled it is an image of its own, whose label claims the new version.
 */
export async function pushTag(repo: string, fromTag: string, toTag: string, options: { relabel?: boolean } = {}): Promise<string> {
  const { stdout } = await execa(script('push-tag.sh'), [...(options.relabel ? ['--relabel'] : []), repo, fromTag, toTag])
  return stdout
}

/** Unlike the registry's own deletion, which removes a manifest under all its tags, this removes only the tag. */
export const deleteTag = (repo: string, tag: string) => execa(script('delete-tag.sh'), [repo, tag])
