import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readTestbed } from '../testbed/testbed.ts'
import { manifestOf } from './support/fleet.ts'
import { type RealMachine, startMachine } from './support/machine.ts'
import { eventually } from './support/programs.ts'

// Both programs under the units as they are shipped, on a machine with systemd, installed by the very lines of deploy/README.md.

const name = `tenantry-units-${process.pid}`
let machine: RealMachine
const sh = (script: string) => machine.shell(script)

/** What stands for the examples of the README on this machine. */
const here: readonly (readonly [string, string])[] = [
  ['npm ci && npm prune --omit=dev', ':'],
  // Three good probes are to take seconds, not minutes.
  ["'publicUrl: https://tenantry.example'", "'{ publicUrl: http://127.0.0.1:8440, probe: { spacingMs: 700 }, rollouts: { pollMs: 500 } }'"],
  ['https://tenantry.example', 'http://127.0.0.1:8440'],
  ['s3://store.example/tenantry', 'file:/var/lib/tenantry-snapshots'],
  ['registry.example', readTestbed().registry],
  ['--token-file <file>', '--token-file /root/invite'],
  // Nobody sits before it.
  ['--pty', '--pipe'],
  ['--role admin', '--role admin --password-file /tmp/password'],
]

/** The blocks of deploy/README.md, in their order: programs, daemon, a command of its own, agent. */
async function blocks(): Promise<string[]> {
  const text = await readFile('deploy/README.md', 'utf8')
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) =>
    here.reduce((typed, [example, ours]) => typed.replaceAll(example, ours), `cd /opt/tenantry\n${block}`),
  )
}

const json = async <T>(command: string) => JSON.parse(await sh(`${command} --json`)) as T
const agentSays = (words: string) =>
  sh(`journalctl --unit tenantry-agent --no-pager --output cat | grep -c -- '${words}' || true`).then(Number)
/** Programs in containers that the agent of this machine has started. */
const owned = async () =>
  (
    await sh(`for at in /proc/[0-9]*; do if tr '\\0' '\\n' < $at/environ 2>/dev/null | grep -qx TENANTRY_OWNER=/var/lib/tenantry-agent &&
    [[ $(readlink $at/ns/pid) != $(readlink /proc/1/ns/pid) ]]; then basename $at; fi; done`)
  )
    .split('\n')
    .filter(Boolean)

/** Of them, one that was there at the look before too: those of a report end at once. */
function staying(): () => Promise<string | undefined> {
  let before: string[] = []
  return async () => {
    const now = await owned()
    const stays = now.find((pid) => before.includes(pid))
    before = now
    return stays
  }
}
const commands = () => sh('ls /var/lib/tenantry-agent/journal')

beforeAll(async () => {
  machine = await startMachine(name)
  const [programs, daemon, command, agent] = (await blocks()) as [string, string, string, string]
  await sh(programs)
  await sh(daemon)
  await sh('until curl -sf http://127.0.0.1:8440/readyz; do sleep 0.2; done')
  await sh('echo "a long password for tests" > /root/password; install -o tenantryd -m 600 /root/password /tmp/password')
  await sh(command)
  await sh(`tenantry login --url http://127.0.0.1:8440 --name anna --password-file /root/password
    tenantry hosts invite host-1 --json | node -p 'JSON.parse(fs.readFileSync(0)).token' > /root/invite`)
  await sh(agent)
  const manifest = (version: string) => stringify(manifestOf(readTestbed(), version))
  for (const version of ['1.157.1', '1.163.2']) await sh(`cat > /root/${version}.yaml <<'END'\n${manifest(version)}END`)
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await sh('journalctl --no-pager --lines 80 --unit tenantryd --unit tenantry-agent'))
})
afterAll(() => machine?.end())

test('installed as deploy/README.md says, both run, and a box is set up that is seen by hand too, without naming any settings', async () => {
  expect(await sh('systemd-analyze verify /etc/systemd/system/tenantry*.service')).toBe('')
  await sh(`tenantry manifest apply /root/1.157.1.yaml --yes
    tenantry boxes provision linden --name Linden --plan light --domain linden.example --host host-1`)
  expect(await sh('cd / && tenantry-agent box list && tenantry-agent box versions linden')).toMatch(/^linden +managed[\s\S]*1\.157\.1/)
  expect(await sh('cd / && tenantry-agent doctor')).toMatch(/✓ settings +\/etc\/tenantry\/tenantry-agent\.yaml[\s\S]*✓ daemon/)
})

test('a box is updated and the daemon restarted meanwhile; with a restore the bits of a shared folder come back', async () => {
  const media = `$(docker inspect --format '{{range .Mounts}}{{println .Source}}{{end}}' box-linden-synapse-1 | grep media)`
  await sh(`mkdir ${media}/shared; chown --reference ${media} ${media}/shared; chmod 2775 ${media}/shared`)
  await sh('tenantry manifest apply /root/1.163.2.yaml --yes')
  const { id } = await json<{ id: string }>('tenantry rollouts create --target linden --start')
  const fenced = `grep --recursive --count --include '*update*' --extended-regexp '"step": *"stop"' /var/lib/tenantry-agent/journal || true`
  await eventually('the box is fenced', async () => /[1-9]$/m.test(await sh(fenced)))
  await sh('systemctl restart tenantryd; until curl -sf http://127.0.0.1:8440/readyz; do sleep 0.2; done')
  const over = () => json<{ status: string; actions: { snapshotId: string; status: string }[] }>(`tenantry rollouts show ${id}`)
  const rollout = await eventually('the rollout is over', async () => {
    const seen = await over()
    return ['done', 'paused', 'failed'].includes(seen.status) && seen
  })
  expect(rollout).toMatchObject({ status: 'done', actions: [{ status: 'succeeded' }] })
  await sh(`tenantry snapshots restore linden --snapshot ${rollout.actions[0]?.snapshotId} --reason 'a try' --wait --yes`)
  expect(await sh(`stat --format %a ${media}/shared`)).toBe('2775')
})

test('an agent that is killed is started again, ends what it had running in a container, and goes on; a stop in the middle drains', async () => {
  const psql = 'docker exec box-linden-postgres-1 psql --username postgres --quiet --tuples-only --no-align'
  await sh('echo TENANTRY_AGENT_DRAIN_MS=1000 > /etc/tenantry/tenantry-agent.env; systemctl restart tenantry-agent')
  // Until it is let go, nobody can read the database to its end.
  await sh(`${psql.replace('exec', 'exec --detach')} --dbname synapse --command 'begin; lock table events; select pg_sleep(600)'`)
  const known = await commands()
  await sh('tenantry snapshots take linden')
  await eventually('the snapshot is begun', async () => (await commands()) !== known)
  const first = await eventually('it hangs in a container', staying(), { everyMs: 2000 })
  await sh('systemctl kill --signal KILL --kill-who main tenantry-agent')
  await eventually('the agent is back, and said what it ended', () => agentSays('"survivors":1').then((times) => times === 1))
  expect(await sh('systemctl show tenantry-agent --property NRestarts --value')).toBe('1')
  const second = await eventually('it goes on, and hangs again', staying(), { everyMs: 2000 })
  expect(await owned()).not.toContain(first)

  const began = performance.now()
  await sh('systemctl stop tenantry-agent')
  expect(performance.now() - began).toBeLessThan(30_000)
  expect(await sh('systemctl show tenantry-agent --property Result --value')).toBe('success')
  expect(await owned()).not.toContain(second)
  await sh(`${psql} --command "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
    systemctl start tenantry-agent`)
  await eventually('the snapshot was taken', () => agentSays('"kind":"tenant-box.snapshot","ok":true').then((times) => times === 1))
})
