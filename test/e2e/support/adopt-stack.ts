import { join } from 'node:path'
import { converse } from './conversation.ts'
import type { Fleet } from './fleet.ts'
import { boxPorts } from './ports.ts'
import { type StackSpec, startStack, type WrittenStack } from './written-stack.ts'

/** Starts a stack as its owner does, and has two people talk in its chat. */
export async function startedStack(fleet: Fleet, spec: StackSpec) {
  const slug = `st-${spec.name}`
  const stack = await startStack(spec, { testbed: fleet.testbed, folder: join(fleet.folder, slug), slug, port: boxPorts().public })
  return { stack, talk: await converse(stack.open, 5) }
}

/** Both steps of an adoption as an operator types them, and what they printed. */
export async function adoptStack(fleet: Fleet, { slug, chatDomain, folder }: WrittenStack) {
  const about = ['--name', slug, '--plan', 'light', '--domain', chatDomain, '--host', 'host-1', '--folder', folder, '--project', slug]
  const registered = await fleet.tenantry('boxes', 'adopt', slug, ...about)
  const completed = registered.exitCode === 0 ? await fleet.tenantry('boxes', 'adopt', slug, '--complete', '--yes') : registered
  const managed = await fleet.api.boxes.showBox({ params: { slug } }).then(
    (box) => box.managed,
    () => false,
  )
  return { managed, said: `${completed.stdout}\n${completed.stderr}` }
}
