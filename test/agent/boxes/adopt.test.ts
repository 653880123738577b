import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { adopt, fenceFile, healthcheck, provision, report } from '../../../src/agent/boxes/index.ts'
import { aBox, composeText, images, moving } from '../simulated/boxes.ts'
import { aContext, anAgent, aProvision } from './provisioning.ts'

const order = (folder: string) => ({ slug: 'elm', boxId: 'box_elm', ownershipEpoch: 1, folder, project: 'elm' })

async function aStack() {
  const agent = await anAgent()
  const box = await aBox({ folder: agent.folder }, 'elm')
  const { folder } = box.project
  await chmod(folder, 0o700)
  return {
    agent,
    folder,
    composeFile: box.project.composeFile,
    adopt: (change = {}) => adopt(agent.deps)(aContext().context, { ...order(folder), ...change }),
  }
}

describe('adopting', () => {
  test('takes a stack as it is: observed, reported, not a byte changed', async () => {
    const stack = await aStack()
    const { report } = await stack.adopt()
    expect(report).toMatchObject({ managed: false, installed: { synapse: 'unknown' }, services: { synapse: { state: 'missing' } } })
    expect(await stack.agent.deps.boxes.find('elm')).toMatchObject({ managed: false, ports: null, project: { name: 'elm' } })
    expect(await readFile(stack.composeFile, 'utf8')).toBe(composeText('elm'))
  })

  test('refuses a file that is not UTF-8, which compose refuses too', async () => {
    const stack = await aStack()
    await writeFile(stack.composeFile, Buffer.from(`${composeText('elm')}# Türen\n`, 'latin1'))
    const line = composeText('elm').split('\n').length
    await expect(stack.adopt()).rejects.toMatchObject({
      code: 'COMPOSE_INVALID',
      message: `Cannot read ${stack.composeFile}: line ${line} is not UTF-8. fix: save it with the encoding UTF-8 in your editor`,
    })
  })

  test('finds the file by each name that compose knows', async () => {
    const stack = await aStack()
    await rename(stack.composeFile, join(stack.folder, 'docker-compose.yml'))
    await stack.adopt()
    expect((await stack.agent.deps.boxes.find('elm'))?.project.composeFile).toMatch(/docker-compose\.yml$/)
  })

  test('reads the files that the running containers name', async () => {
    const stack = await aStack()
    const { host, deps } = stack.agent
    const prod = join(stack.folder, 'prod.yaml')
    await rename(stack.composeFile, prod)
    await writeFile(stack.composeFile, composeText('another'))
    await writeFile(join(stack.folder, 'prod.env'), '')
    const project = { name: 'elm', folder: stack.folder, composeFile: prod, envFile: join(stack.folder, 'prod.env') }
    await moving(host.clock, async () => {
      for (const image of Object.values(images)) await host.engine.pull(image, {})
      await host.engine.up(project, ['postgres', 'minio', 'synapse', 'edge'])
    })
    await moving(host.clock, () => stack.adopt())
    expect((await deps.boxes.find('elm'))?.project).toEqual(project)
  })

  test('refuses unsafe folders, files that are none, and names that are taken', async () => {
    const stack = await aStack()
    await chmod(stack.composeFile, 0o666)
    await expect(stack.adopt()).rejects.toMatchObject({ code: 'FOLDER_UNSAFE' })
    await chmod(stack.composeFile, 0o600)
    await writeFile(stack.composeFile, 'services: [')
    await expect(stack.adopt()).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
    await rm(stack.composeFile)
    await expect(stack.adopt()).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringMatching(/No compose file/) })
    await expect(stack.adopt({ folder: '/nowhere' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'Folder /nowhere does not exist on this host. fix: adopt again with the folder that has the compose file',
    })
    await expect(stack.adopt({ slug: 'e;lm' })).rejects.toThrow()
    expect(await stack.agent.deps.boxes.list()).toEqual([])
  })

  test('never takes a managed box down to an observed one', async () => {
    const { host, deps } = await anAgent()
    await moving(host.clock, () => provision(deps)(aContext().context, aProvision()), 10_000)
    const { folder, name } = (await deps.boxes.find('oak'))!.project
    await adopt(deps)(aContext().context, { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1, folder, project: name })
    expect((await deps.boxes.find('oak'))?.managed).toBe(true)
    await expect(
      adopt(deps)(aContext().context, { slug: 'oak', boxId: 'box_x', ownershipEpoch: 1, folder, project: name }),
    ).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  })

  test('takes the name of a stack that was only observed and is forgotten by now, also to be provisioned; never that of a managed box', async () => {
    const stack = await aStack()
    const { host, deps } = stack.agent
    await stack.adopt({ slug: 'oak', boxId: 'box_old', ownershipEpoch: 2 })
    await stack.adopt({ slug: 'oak', boxId: 'box_older' })
    expect(await deps.boxes.find('oak')).toMatchObject({ boxId: 'box_older', managed: false })
    await moving(host.clock, () => provision(deps)(aContext().context, aProvision()), 10_000)
    expect(await deps.boxes.find('oak')).toMatchObject({ boxId: 'box_oak', managed: true })
    await expect(stack.adopt({ slug: 'oak', boxId: 'box_old' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  })

  test('refuses a stack that is a managed box under another name: both would be updated side by side', async () => {
    const stack = await aStack()
    const { boxes } = stack.agent.deps
    await stack.adopt()
    const elm = (await boxes.find('elm'))!
    await boxes.put({ ...elm, managed: true })
    const other = { slug: 'ash', boxId: 'box_ash' }
    for (const under of [{}, { project: 'ash' }])
      await expect(stack.adopt({ ...other, ...under })).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining('elm'),
      })
    expect(await boxes.find('ash')).toBeUndefined()
    await boxes.put(elm)
    await stack.adopt(other) // two may watch it
    expect(await boxes.find('ash')).toMatchObject({ managed: false })
  })
})

describe('asking after a box', () => {
  const known = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }
  const provisioned = async () => {
    const agent = await anAgent()
    await moving(agent.host.clock, () => provision(agent.deps)(aContext().context, aProvision()), 10_000)
    return agent
  }

  test('a sick box is a result', async () => {
    const { host, deps } = await provisioned()
    host.inject({ kind: 'probe-fails', components: ['objectStorage'] })
    const { probe } = await healthcheck(deps)(aContext().context, known)
    expect(probe).toMatchObject({ verdict: 'failed', components: { objectStorage: { ok: false }, chatApi: { ok: true } } })
  })

  test('the report contains what runs, not what the file says', async () => {
    const { host, deps } = await provisioned()
    const { project } = (await deps.boxes.find('oak'))!
    await writeFile(project.composeFile, (await readFile(project.composeFile, 'utf8')).replace('synapse:v1.157.1', 'synapse:v1.163.2'))
    await writeFile(fenceFile(project), '')
    await host.engine.stop(project, ['minio'])
    const sent = (await report(deps)(aContext().context, known)).report
    expect(sent).toMatchObject({
      fenced: true,
      installed: { synapse: '1.157.1', minio: 'unknown' },
      services: { minio: { state: 'exited' } },
    })
  })

  test('the report contains the size of the database, or nothing while it is down', async () => {
    const { host, deps } = await provisioned()
    const size = async () => (await report(deps)(aContext().context, known)).report.databaseBytes
    expect(await size()).toBeGreaterThan(0)
    await host.engine.stop((await deps.boxes.find('oak'))!.project, ['postgres'])
    expect(await size()).toBeUndefined()
  })

  test('another box of the name, an unknown one and a former owner are refused; a newer owner is taken over', async () => {
    const { deps } = await provisioned()
    const ask = (change: object) => report(deps)(aContext().context, { ...known, ...change })
    await expect(ask({ boxId: 'box_x' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(ask({ slug: 'elm' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await ask({ ownershipEpoch: 4 })).report.ownershipEpoch).toBe(4)
    await expect(ask({ ownershipEpoch: 3 })).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('an engine that is away is said so', async () => {
    const { host, deps } = await provisioned()
    host.inject({ kind: 'engine-down' })
    await expect(report(deps)(aContext().context, known)).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
  })
})
