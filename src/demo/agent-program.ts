import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endSurvivors } from '../agent/journal/index.ts'
import { problem } from '../core/kit/index.ts'
import { packageRoot, systemClock } from '../node/index.ts'
import type { StartAgent } from './stage.ts'

type Engine = Readonly<{ dockerHost: string; dockerConfig: string; docker: string; restic: string; registry: string }>

/** The real `tenantry-agent` on this machine, enrolled and run as a program of its own. */
export function agentProgram(engine: Engine, projectPrefix: string): StartAgent {
  return async ({ daemonUrl, token, folder, signal }) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const owner = join(folder, 'agent')
    const agent = program(join(folder, 'agent.log'), {
      TENANTRY_AGENT_STATE_DIR: owner,
      TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes'),
      TENANTRY_AGENT_PROJECT_PREFIX: projectPrefix,
      TENANTRY_AGENT_IMAGES: `${engine.registry}/tenantry/*`,
      TENANTRY_AGENT_DOCKER_HOST: engine.dockerHost,
      TENANTRY_AGENT_DOCKER_CONFIG: engine.dockerConfig,
      TENANTRY_AGENT_DOCKER: engine.docker,
      TENANTRY_AGENT_RESTIC: engine.restic,
      TENANTRY_AGENT_DRAIN_MS: '0',
    })
    await agent.run(['enrol', '--url', daemonUrl, '--token-file', '-'], { input: token, signal })
    try {
      await agent.run(['run'], { signal })
    } finally {
      await endSurvivors({ clock: systemClock, owner })
    }
  }
}

type Running = Readonly<{ input?: string; signal?: AbortSignal }>

function program(logFile: string, settings: Readonly<Record<string, string>>) {
  const run = async (args: readonly string[], { input, signal }: Running): Promise<void> => {
    const log = openSync(logFile, 'a', 0o600)
    // A group of its own: Ctrl-C reaches the demo alone, which then ends the agent.
    const child = spawn(process.execPath, [packageRoot('bin/tenantry-agent.js'), ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
      stdio: ['pipe', log, log],
      detached: true,
    })
    closeSync(log)
    // A program that ends early is reported by its exit code.
    child.stdin?.on('error', () => undefined).end(input)
    const ended = once(child, 'exit')
    const end = () => endProgram(child)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
    const [code] = (await ended) as [number | null]
    if (code === 0 || signal?.aborted) return
    throw problem('HOST_OFFLINE', `tenantry-agent ${args[0]} ended: ${(await readFile(logFile, 'utf8')).trim().slice(-1000)}`)
  }
  return { run }
}

const maxWaitMs = 10_000

function endProgram(child: ChildProcess): void {
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), maxWaitMs)
  child.once('exit', () => clearTimeout(patience))
}
