import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Random, randomText, sha256Hex } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import { type BoxView, runningId } from './box-view.ts'
import { cachedByContainer } from './container-cache.ts'
import { ask } from './http.ts'

type Asking = Readonly<{ engine: ContainerEngine; signal?: AbortSignal | undefined }>

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
export async function checkUpload({ engine, random, signal }: Asking & Readonly<{ random: Random }>, view: BoxView): Promise<void> {
  const [user, password] = await Promise.all(['root-user', 'root-password'].map((name) => readSecret(view, name)))
  const content = randomText(random, 20)
  const signed = [`user = "${user}:${password}"`, 'aws-sigv4 = "aws:amz:us-east-1:s3"']
  const [inBucket, inObject] = [`url = "http://127.0.0.1:9000/${bucket}"`, `url = "http://127.0.0.1:9000/${bucket}/probe"`]
  const put = [...signed, 'request = "PUT"', ...body(content), inObject]
  const run = (...requests: readonly string[][]) => curl({ engine, signal }, view, requests)
  // One program for both: to start it takes longer than what it does.
  const putAndGet = () => run(put, [...signed, inObject])
  let [uploaded, read] = await putAndGet()
  if (uploaded?.status === 404) {
    await run([...signed, 'request = "PUT"', inBucket])
    ;[uploaded, read] = await putAndGet()
  }
  if (uploaded?.status !== 200) throw new Error(`the upload returned ${uploaded?.status}`)
  if (read?.status !== 200 || read.text !== content) throw new Error(`the upload was not read back (${read?.status})`)
}

const readSecret = async ({ box }: BoxView, name: string): Promise<string> =>
  (await readFile(join(box.project.folder, 'secrets', 'minio', name), 'utf8')).trim()

const body = (content: string): string[] => [
  `data-binary = "${content}"`,
  'header = "Content-Type: application/octet-stream"',
  // Older curl versions omit this header, which S3 requires.
  `header = "x-amz-content-sha256: ${sha256Hex(content)}"`,
]

type Response = Readonly<{ status: number; text: string }>

/** Sends one request after the other. */
async function curl({ engine, signal }: Asking, view: BoxView, requests: readonly (readonly string[])[]): Promise<Response[]> {
  const config = requests
    .map((lines) => [...lines, 'max-time = 10', `write-out = "\\n${ended}%{http_code}\\n"`].join('\n'))
    .join('\nnext\n')
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'minio'), ['curl', '-q', '-sS', '--config', '-'], {
    stdin: `${config}\n`,
    ...(signal ? { signal } : {}),
  })
  if (exitCode !== 0) throw new Error(`curl in minio failed with exit code ${exitCode}: ${stderr.trim().slice(0, 200)}`)
  return [...stdout.matchAll(responses)].map(([, text = '', status]) => ({ status: Number(status), text }))
}

const ended = 'tenantry-status: '
const responses = new RegExp(`([^]*?)\\n${ended}(\\d{3})\\n`, 'g')

/** Undefined when the program fails. */
export const objectStoreVersion = cachedByContainer('minio', async (engine, view) => {
  const { exitCode, stdout } = await engine.exec(runningId(view, 'minio'), ['minio', '--version'], {
    signal: AbortSignal.timeout(versionMs),
  })
  return (exitCode === 0 && stdout.split('\n')[0]) || undefined
})
