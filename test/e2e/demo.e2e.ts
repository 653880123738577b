import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerEngine } from '../../src/agent/docker/index.ts'
import { readTestbed } from '../testbed/testbed.ts'
import { freePorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'

let folder: string
let port: number
const engine = dockerEngine(readTestbed())

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-demo-'))
  port = await freePorts(1)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function startDemo(...args: string[]) {
  const child = spawn(process.execPath, [resolve('bin/demo.js'), '--docker', '--port', String(port), ...args], { cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return { child, output: () => output, ended: once(child, 'exit') as Promise<[number | null]> }
}

async function expectNothingLeft() {
  expect(await engine.projects(`tenantry-demo-${port}-`)).toEqual([])
  expect(await readdir(join(folder, '.tenantry/demo'))).toEqual([])
}

test('the demo with real boxes updates one, rolls the other one back, and leaves nothing behind', async () => {
  const demo = startDemo('--exit')
  const [code] = await demo.ended
  expect(demo.output()).toMatch(/kita-regenbogen +succeeded[\s\S]*realschule-am-see +rolled back/)
  expect(demo.output()).toMatch(/realschule-am-see failed its health checks.* its agent restored 1\.157\.1/)
  expect(code).toBe(0)
  await expectNothingLeft()
})

test('Ctrl-C while boxes are provisioned leaves nothing behind', async () => {
  const demo = startDemo()
  await eventually('a container exists', async () => (await engine.projects(`tenantry-demo-${port}-`)).length > 0)
  demo.child.kill('SIGINT')
  expect((await demo.ended)[0]).toBe(130)
  await expectNothingLeft()
})
