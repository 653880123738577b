import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from '../free-port.ts'

const program = join(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed', 'bin/stripe-mock')

/** The test bed installs it; tests that need it are skipped elsewhere. */
export const hasStripeMock = existsSync(program)

/** Address of a private stripe-mock: it checks path and parameters of every call against the provider's OpenAPI document. */
export async function aStripeMock(whenOver: (close: () => void) => void = onTestFinished): Promise<string> {
  const port = await freePort()
  const child = spawn(program, ['-http-port', String(port), '-strict-version-check=false'], { stdio: 'ignore' })
  whenOver(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; attempt < 200; attempt++) {
    const answer = await fetch(`${url}/v1/charges`, { headers: { authorization: 'Bearer sk_test_123' } }).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer) return url
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('stripe-mock did not start')
}
