import { join } from 'node:path'
import { quarantineReason } from '../../core/boxes/index.ts'
import { type ExitCode, printable, problem } from '../../core/kit/index.ts'
import { assertManaged, beginMaintenance, endMaintenance, type Fence, readFence, removeFenceFile } from '../boxes/index.ts'
import { type CommandRecord, fileLocks, folderStore, readRecords } from '../journal/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { currentHost, findBox } from './box-queries.ts'

import type { LocalHost } from './local-host.ts'
import { type Globals, type Machine, print } from './settings.ts'

// Manual changes of a box on its own host. Each takes the box's lock first, like the agent's commands, and refuses while a command is open.

type OnBox = Readonly<{ machine: Machine; slug: string; options: Globals }>
type Held = Readonly<{ host: LocalHost; box: LocalBox; records: readonly CommandRecord[] }>

/** Throws BOX_HELD while a running agent works on the box, or a stopped agent has an open command for it. */
async function withBox<Value>({ machine, slug, options }: OnBox, act: (held: Held) => Promise<Value>): Promise<Value> {
  const host = currentHost(machine, options)
  const box = await findBox(host, slug)
  const lock = await fileLocks(join(host.owner, 'locks')).acquire(slug)
  try {
    const records = (await readRecords(folderStore(join(host.owner, 'journal')))).filter((record) => record.slug === slug)
    const open = records.find(({ closed }) => !closed)
    if (open)
      throw problem(
        'BOX_HELD',
        `Command ${open.commandId} on box ${slug} is not finished. fix: systemctl start tenantry-agent (the agent resumes it)`,
      )
    return await act({ host, box, records })
  } finally {
    await lock.release()
  }
}

export function boxMaintenanceOn(machine: Machine, slug: string, options: Globals & Readonly<{ reason: string }>): Promise<ExitCode> {
  return withBox({ machine, slug, options }, async ({ box }) => {
    assertManaged(box)
    await beginMaintenance(machine, box, options.reason.slice(0, 300))
    return printFence(machine, options, { box, words: `${slug} is in maintenance. To end it: tenantry-agent box maintenance off ${slug}` })
  })
}

export function boxMaintenanceOff(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  return withBox({ machine, slug, options }, async ({ box }) => {
    await endMaintenance(box)
    return printFence(machine, options, { box, words: `${slug} is open: no fence` })
  })
}

async function printFence(
  machine: Machine,
  options: Globals,
  { box: { project }, words }: Readonly<{ box: LocalBox; words: string }>,
): Promise<ExitCode> {
  print(machine, options, { result: { fence: (await readFence(project)) ?? null }, words })
  return 0
}

type Confirmed = Globals & Readonly<{ confirm?: string }>

export function boxUnfence(machine: Machine, slug: string, options: Confirmed): Promise<ExitCode> {
  return withBox({ machine, slug, options }, async ({ host, box, records }) => {
    const fence = await readFence(box.project)
    if (!fence) return printFence(machine, options, { box, words: `${slug} is not fenced` })
    const why = assertQuarantined(box, fence, records)
    const down = (await host.engine.containers(box.project)).filter(({ state }) => state !== 'running').map(({ service }) => service)
    await typed(machine, slug, {
      confirmed: options,
      words: [
        `Box ${slug} is quarantined since ${fence.since ?? 'an unknown time'}: ${reasons[why](fence.holder)}.`,
        `Lifting the fence lets users in. Services: ${down.length > 0 ? `${down.join(', ')} down; start them first` : 'all running'}.`,
        'New writes are lost if you later restore the snapshot of that command. Data, volumes and the dump stay unchanged.',
      ],
    })
    await clearHandOver(host, box)
    await removeFenceFile(box.project)
    return printFence(machine, options, { box, words: `${slug} is open: no fence` })
  })
}

const reasons = {
  rollback: (holder: string) => `the rollback of ${holder} failed`,
  unfence: (holder: string) => `the unfence after ${holder} failed`,
  lost: (holder: string) => `${holder} was lost with the state folder of the agent`,
} as const

/** Clears the mark of a failed hand-over; with it the agent would refuse all commands for the box. */
async function clearHandOver({ boxes }: LocalHost, { handedOver, ...owned }: LocalBox): Promise<void> {
  if (handedOver) await boxes.put(owned)
}

/** Only a fence of a command that ended in a failed rollback may be lifted by hand. Throws BOX_HELD. */
function assertQuarantined(box: LocalBox, { holder }: Fence, records: readonly CommandRecord[]): keyof typeof reasons {
  const { slug } = box
  if (holder === 'maintenance') throw problem('BOX_HELD', `Box ${slug} is in maintenance. fix: tenantry-agent box maintenance off ${slug}`)
  const reason = quarantineReason(holder, box, records)
  if (reason) return reason
  const why = box.handedOver
    ? 'it is or may be on another host'
    : records.some(({ commandId }) => commandId === holder)
      ? `${printable(holder)} did not end in a failed rollback`
      : `${printable(holder)} is not in the journal of this host`
  throw problem('BOX_HELD', `Cannot lift the fence of ${slug}: ${why}. fix: check tenantry boxes show ${slug} and its rollout first`)
}

export function boxRelease(machine: Machine, slug: string, options: Confirmed): Promise<ExitCode> {
  return withBox<ExitCode>({ machine, slug, options }, async ({ host, box }) => {
    if (box.managed) throw problem('CONFLICT', `Box ${slug} is managed. fix: move or remove it with \`tenantry boxes\``)
    await typed(machine, slug, {
      confirmed: options,
      words: [`This host stops observing ${slug} in ${box.project.folder}. The stack stays unchanged and can be adopted again.`],
    })
    await host.boxes.remove(slug)
    print(machine, options, { result: { released: slug }, words: `${slug} is no longer observed` })
    return 0
  })
}

/** Asks for the slug; `--confirm` answers without a terminal. Throws CANCELLED or USAGE. */
async function typed(
  machine: Machine,
  slug: string,
  { confirmed: { confirm }, words }: Readonly<{ confirmed: Confirmed; words: readonly string[] }>,
): Promise<void> {
  if (confirm === slug) return
  if (confirm !== undefined) throw problem('USAGE', `--confirm ${printable(confirm)} does not match box ${slug}`)
  if (!machine.stdin.isTTY)
    throw problem('USAGE', `${words.join(' ')} Confirmation required, but stdin is not a terminal. fix: pass --confirm ${slug}`)
  machine.stderr.write(`${words.map(printable).join('\n')}\nType the slug of the box to continue: `)
  if ((await firstLine(machine)) !== slug) throw problem('CANCELLED', 'The slug does not match; nothing was changed')
}

async function firstLine({ stdin }: Machine): Promise<string> {
  let text = ''
  for await (const part of stdin) {
    text += String(part)
    if (text.includes('\n')) break
  }
  return (text.split('\n')[0] ?? '').trim()
}
