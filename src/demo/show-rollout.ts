import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { packageRoot, systemClock } from '../node/index.ts'
import type { Stage } from './stage.ts'

type Shown = Readonly<{ id: string; status: string }>

/**
 * Runs the operator's command on this terminal, and ends its board when the rollout pauses. Without `keepsRunning` its next commands are
 * left out: the daemon is gone by then.
 */
export async function showRollout({ api: { rollouts }, url, token }: Stage, keepsRunning: boolean): Promise<Shown> {
  const env = { ...process.env, TENANTRY_URL: url, TENANTRY_TOKEN: token }
  const child = spawn(process.execPath, [packageRoot('bin/tenantry.js'), 'rollouts', 'create', '--start', '--watch', '--yes'], {
    env,
    stdio: keepsRunning ? 'inherit' : ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const printed = child.stdout ? printWithoutCommands(child.stdout) : undefined
  const stopped = new AbortController()
  const endAtPause = (async () => {
    while (!stopped.signal.aborted) {
      const [rollout] = (await rollouts.listRollouts()).rollouts
      if (rollout?.status === 'paused') {
        await systemClock.sleep(1500, stopped.signal)
        child.kill('SIGINT')
        return
      }
      await systemClock.sleep(300, stopped.signal)
    }
  })()
  await ended
  await printed
  stopped.abort()
  await endAtPause
  const [rollout] = (await rollouts.listRollouts()).rollouts
  return { id: rollout?.id ?? '', status: rollout?.status ?? 'missing' }
}

/** `  retry    tenantry rollouts resume …` */
const nextCommand = /^ +[a-z ]+ tenantry /

async function printWithoutCommands(output: Readable): Promise<void> {
  let rest = ''
  for await (const chunk of output.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (!nextCommand.test(line)) process.stdout.write(`${line}\n`)
  }
}
