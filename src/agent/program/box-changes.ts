import { join } from 'node:path'
import { quarantineReason } from '../../core/boxes/index.ts'
import { type ExitCode, printable, problem } from '../../core/kit/index.ts'
import { beginMaintenance, endMaintenance, readFence, type StandingFence, takeSwitchAway } from '../boxes/index.ts'
import { type CommandRecord, fileLocks, folderStore, readRecords } from '../journal/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { boxOf, hostHere } from './box-queries.ts'

import type { LocalHost } from './local-host.ts'
import { type Globals, type Machine, print } from './settings.ts'

// What a person may do to a box from its own host. Each takes the box's lock first, as the commands of the agent do: whoever works on the
// box keeps it, also an update that a stopped agent goes on with at its next start.

type Held = Readonly<{ host: LocalHost; box: LocalBox; records: readonly CommandRecord[] }>

/** Throws BOX_HELD when the running agent works on the box, or a stopped one has something in hand for it. */
async function withBox<Value>(machine: Machine, slug: string, options: Globals, act: (held: Held) => Promise<Value>): Promise<Value> {
  const host = hostHere(machine, options)
  const box = await boxOf(host, slug)
  const lock = await fileLocks(join(host.owner, 'locks')).acquire(slug)
  try {
    const records = (await readRecords(folderStore(join(host.owner, 'journal')))).filter((record) => record.slug === slug)
    const open = records.find(({ closed }) => !closed)
    if (open)
      throw problem(
        'BOX_HELD',
        `${open.commandId} is not over on the box ${slug}: let the agent run, it goes on with it (\`systemctl start tenantry-agent\`)`,
      )
    return await act({ host, box, records })
  } finally {
    await lock.release()
  }
}

export function boxMaintenanceOn(machine: Machine, slug: string, options: Globals & Readonly<{ reason: string }>): Promise<ExitCode> {
  return withBox(machine, slug, options, async ({ box }) => {
    if (!box.managed)
      throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed: its edge has no fence; complete its adoption first`)
    await beginMaintenance(machine, box, options.reason.slice(0, 300))
    return tellFence(machine, options, box, `${slug} is closed; open it again with \`tenantry-agent box maintenance off ${slug}\``)
  })
}

export function boxMaintenanceOff(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  return withBox(machine, slug, options, async ({ box }) => {
    await endMaintenance(box)
    return tellFence(machine, options, box, `${slug} is open`)
  })
}

async function tellFence(machine: Machine, options: Globals, { project }: LocalBox, words: string): Promise<ExitCode> {
  print(machine, options, { fence: (await readFence(project)) ?? null }, words)
  return 0
}

type Confirmed = Globals & Readonly<{ confirm?: string }>

export function boxUnfence(machine: Machine, slug: string, options: Confirmed): Promise<ExitCode> {
  return withBox(machine, slug, options, async ({ host, box, records }) => {
    const fence = await readFence(box.project)
    if (!fence) return tellFence(machine, options, box, `${slug} is open already`)
    const why = needResting(box, fence, records)
    const down = (await host.engine.containers(box.project)).filter(({ state }) => state !== 'running').map(({ service }) => service)
    await typed(machine, slug, options, [
      `${slug} rests closed since ${fence.since ?? 'an unknown time'}, because the ${why} ${why === 'unfence' ? 'after' : 'of'} ${fence.holder} failed.`,
      `Opening it lets people in as it stands: ${down.length > 0 ? `${down.join(', ')} ${down.length > 1 ? 'are' : 'is'} down, start what is needed first` : 'all its services run'}.`,
      'What they write from now on is lost if you restore the snapshot of that command later. Nothing else is changed: data, volumes and dump stay.',
    ])
    await ownAgain(host, box)
    await takeSwitchAway(box.project)
    return tellFence(machine, options, box, `${slug} is open`)
  })
}

/** A hand-over that failed may have left word that the box is another's: no command would be taken for it. */
async function ownAgain({ boxes }: LocalHost, { handedOver, ...owned }: LocalBox): Promise<void> {
  if (handedOver) await boxes.put(owned)
}

/** Maintenance has a way out of its own, and what the journal does not know to be over may still be needed closed. */
function needResting(box: LocalBox, { holder }: StandingFence, records: readonly CommandRecord[]): 'rollback' | 'unfence' {
  const { slug } = box
  if (holder === 'maintenance')
    throw problem('BOX_HELD', `the box ${slug} is in maintenance: \`tenantry-agent box maintenance off ${slug}\` ends it`)
  const rests = quarantineReason(holder, box, records)
  if (rests) return rests
  const why = box.handedOver
    ? 'another host has it, or may have it'
    : records.some(({ commandId }) => commandId === holder)
      ? `${printable(holder)} did not end in a failed way back`
      : `the journal of this host does not know ${printable(holder)}`
  throw problem('BOX_HELD', `the box ${slug} is not opened: ${why}; look at \`tenantry boxes show ${slug}\` and at its rollout first`)
}

export function boxRelease(machine: Machine, slug: string, options: Confirmed): Promise<ExitCode> {
  return withBox<ExitCode>(machine, slug, options, async ({ host, box }) => {
    if (box.managed) throw problem('CONFLICT', `the box ${slug} is managed: move or remove it with \`tenantry boxes\``)
    await typed(machine, slug, options, [
      `This host forgets that it observes ${slug} in ${box.project.folder}; nothing of it is touched, and it can be adopted again.`,
    ])
    await host.boxes.remove(slug)
    print(machine, options, { released: slug }, `${slug} is forgotten`)
    return 0
  })
}

/** A person types the name of the box; where there is no terminal, `--confirm` says it. Throws CANCELLED or USAGE. */
async function typed(machine: Machine, slug: string, { confirm }: Confirmed, words: readonly string[]): Promise<void> {
  if (confirm === slug) return
  if (confirm !== undefined) throw problem('USAGE', `--confirm says ${printable(confirm)}, and the box is ${slug}`)
  if (!machine.stdin.isTTY) throw problem('USAGE', `${words.join(' ')} To do it, add --confirm ${slug}`)
  machine.stderr.write(`${words.map(printable).join('\n')}\nType the name of the box to go on: `)
  if ((await firstLine(machine)) !== slug) throw problem('CANCELLED', 'that was not the name of the box; nothing was changed')
}

async function firstLine({ stdin }: Machine): Promise<string> {
  let text = ''
  for await (const part of stdin) {
    text += String(part)
    if (text.includes('\n')) break
  }
  return (text.split('\n')[0] ?? '').trim()
}
