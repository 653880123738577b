import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rulesFile, scrapeExample } from './prometheus.ts'
import { aFolder } from './running-daemon.ts'

type Scraped = Readonly<{ url: string; tokenFile: string }>

/**
 * Debian's Prometheus on this port. It scrapes the daemon by the example that is handed out, only faster; without a daemon it scrapes nothing.
 */
export async function startPrometheus(port: number, scraped?: Scraped) {
  const folder = await aFolder('prometheus')
  await writeFile(join(folder, 'prometheus.yml'), scraped ? await exampleFor(folder, scraped) : '{}\n')
  const address = `127.0.0.1:${port}`
  const storage = [`--storage.tsdb.path=${join(folder, 'data')}`, `--config.file=${join(folder, 'prometheus.yml')}`]
  const child = spawn('prometheus', [...storage, `--web.listen-address=${address}`], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (log += text))
  const ended = Promise.race([once(child, 'exit'), once(child, 'error').then(([error]) => (log += `${error}`))])
  /** The data of an answer of its API. Throws its error. */
  const ask = async (path: string, query: Record<string, string> = {}) => {
    const answer = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(query)}`).catch((error) => {
      throw new Error(`${error}; Prometheus logged: ${log.slice(-2000)}`)
    })
    const { status, data, error } = (await answer.json()) as { status: string; data: never; error?: string }
    if (status !== 'success') throw new Error(`${JSON.stringify(query)}: ${error}`)
    return data as unknown
  }
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  const close = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { url: `http://${address}`, ask, isReady, close }
}

async function exampleFor(folder: string, { url, tokenFile }: Scraped): Promise<string> {
  await copyFile(rulesFile, join(folder, 'tenantry.rules.yml'))
  await copyFile(tokenFile, join(folder, 'tenantry.token'))
  return (await readFile(scrapeExample, 'utf8'))
    .replaceAll('/etc/prometheus/', `${folder}/`)
    .replaceAll('127.0.0.1:8440', new URL(url).host)
    .replace(/(scrape_interval|scrape_timeout|evaluation_interval): \d+s/g, '$1: 1s')
}
