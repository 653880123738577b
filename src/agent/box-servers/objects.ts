import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Random, randomText, sha256Hex } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import { type BoxView, runningId } from './box-view.ts'
import { ask } from './http.ts'

const bucket = 'tenantry-probe'
const versionMs = 20_000
const clusterHealth = '/minio/health/cluster'

/** Only `cluster` detects lost data; `live` and `ready` still return 200. */
export async function checkCluster({ container, edge }: BoxView, signal?: AbortSignal): Promise<void> {
  const address = container('minio')?.address
  if (!address) throw new Error('minio is not running')
  for (const origin of [{ url: `http://${address}:9000` }, ...(edge ? [edge] : [])]) {
    const { status } = await ask(origin, clusterHealth, { signal })
    if (status !== 200) throw new Error(`${clusterHealth} answered ${status}`)
  }
}

/** Uploads and reads back a small object with the container's curl; the root password goes through stdin. Only for managed boxes. */
export async function checkUpload(engine: ContainerEngine, view: BoxView, random: Random, signal?: AbortSignal): Promise<void> {
  const [user, password] = await Promise.all(['root-user', 'root-password'].map((name) => readSecret(view, name)))
  const content = randomText(random, 20)
  const run = (lines: readonly string[]) =>
    curl(engine, view, [`user = "${user}:${password}"`, 'aws-sigv4 = "aws:amz:us-east-1:s3"', ...lines], signal)
  const put = () => run(['request = "PUT"', ...body(content), `url = "http://127.0.0.1:9000/${bucket}/probe"`])
  if ((await put()).status === 404) {
    await run(['request = "PUT"', `url = "http://127.0.0.1:9000/${bucket}"`])
    const again = await put()
    if (again.status !== 200) throw new Error(`the upload returned ${again.status}`)
  }
  const read = await run([`url = "http://127.0.0.1:9000/${bucket}/probe"`])
  if (read.status !== 200 || read.text !== content) throw new Error(`the upload was not read back (${read.status})`)
}

const readSecret = async ({ box }: BoxView, name: string): Promise<string> =>
  (await readFile(join(box.project.folder, 'secrets', 'minio', name), 'utf8')).trim()

const body = (content: string): string[] => [
  `data-binary = "${content}"`,
  'header = "Content-Type: application/octet-stream"',
  // Older curl versions omit this header, which S3 requires.
  `header = "x-amz-content-sha256: ${sha256Hex(content)}"`,
]

async function curl(
  engine: ContainerEngine,
  view: BoxView,
  config: readonly string[],
  signal?: AbortSignal,
): Promise<{ status: number; text: string }> {
  const argv = ['curl', '-q', '-sS', '--max-time', '10', '--write-out', '\n%{http_code}', '--config', '-']
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'minio'), argv, {
    stdin: `${config.join('\n')}\n`,
    ...(signal ? { signal } : {}),
  })
  if (exitCode !== 0) throw new Error(`curl in minio failed with exit code ${exitCode}: ${stderr.trim().slice(0, 200)}`)
  const at = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(at + 1)), text: stdout.slice(0, at) }
}

export async function objectStoreVersion(engine: ContainerEngine, view: BoxView): Promise<string | undefined> {
  const { exitCode, stdout } = await engine.exec(runningId(view, 'minio'), ['minio', '--version'], {
    signal: AbortSignal.timeout(versionMs),
  })
  return exitCode === 0 ? stdout.split('\n')[0] : undefined
}
