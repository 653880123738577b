import type { EventEmitter } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { installLastResort } from '../../src/node/index.ts'

/** Only the listener of this test hears the errors. */
function alone() {
  const others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const { exitCode } = process
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const one of others) process.on('uncaughtException', one)
    process.exitCode = exitCode
  })
}

test('the first unhandled error stops the program, each is logged without secrets, and one that does not stop is ended', async () => {
  alone()
  const emitter: EventEmitter = process
  const logged: unknown[] = []
  const log = { fatal: (fields: unknown) => logged.push(fields) } as never
  const ended = new Promise<number>((exit) => {
    const { signal } = installLastResort(log, { exit: exit as never, limitMs: 20 })
    emitter.emit('uncaughtException', new Error('Authorization: Bearer abc.def-1'), 'unhandledRejection')
    emitter.emit('uncaughtException', 'text', 'uncaughtException')
    expect(signal.aborted).toBe(true)
  })
  expect(await ended).toBe(1)
  expect(process.exitCode).toBe(1)
  expect(logged).toMatchObject([{ origin: 'unhandledRejection', stack: expect.stringContaining('Bearer [secret]') }, { stack: 'text' }])
  expect(JSON.stringify(logged)).not.toContain('abc.def')
})
