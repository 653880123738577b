import { setMaxListeners } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fleet, simulatedFleet } from '../../src/demo/fleet.ts'
import { enrolHosts, openStage, provisionFleet, type StartAgent, simulatedAgents } from '../../src/demo/stage.ts'
import type { Tracing } from '../../src/node/index.ts'
import { freePort } from './free-port.ts'
import { aFolder } from './running-daemon.ts'

const hosts = ['amsel', 'fink']
const boxes = [
  { slug: 'linden', name: 'Linden', plan: 'light', host: 'amsel', canary: false },
  { slug: 'ahorn', name: 'Ahorn', plan: 'pro', host: 'fink', canary: false },
  { slug: 'eiche', name: 'Eiche', plan: 'dedicated', host: 'amsel', canary: false },
] as const

/** The daemon of the demo with a token for its metrics, and a small simulated fleet with a snapshot. */
export async function aSimulatedFleet(env: Readonly<Record<string, string>> = {}, tracing?: Tracing) {
  const token = 'a'.repeat(64)
  const tokenFile = join(await aFolder('metrics'), 'token')
  await writeFile(tokenFile, `${token}\n`)
  await chmod(tokenFile, 0o600)
  const fleet: Fleet = { ...simulatedFleet, hosts, boxes }
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal)
  const stage = await openStage(await freePort(), { ...fleet.env, TENANTRY_METRICS_TOKEN_FILE: tokenFile, ...env })
  const agents: Promise<void>[] = []
  const start = simulatedAgents(fleet, tracing)
  const startAgent: StartAgent = (agent) => {
    const running = start(agent)
    agents.push(running)
    return running
  }
  const close = async () => {
    leaving.abort()
    await Promise.allSettled([stage.close(), ...agents])
    await stage.removeFiles()
  }
  const { api } = stage
  try {
    await enrolHosts(stage, { names: fleet.hosts, startAgent }, leaving.signal)
    await api.boxes.applyManifest({ body: { manifest: fleet.before } })
    await provisionFleet(stage, { boxes: fleet.boxes, onReady: () => undefined }, leaving.signal)
  } catch (error) {
    await close()
    throw error
  }
  const scrape = async () => (await fetch(`${stage.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()
  return { url: stage.url, token: stage.token, target: fleet.after, api, tokenFile, scrape, close }
}
