import type { BoxCommandResult, BoxDetail } from '../../core/boxes/index.ts'
import { printable, problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context } from '../kit/index.ts'
import { toldCommand } from './follow-commands.ts'
import { shownBox } from './shown-box.ts'

type Completion = BoxCommandResult<'tenant-box.complete'>

/** Shows what an observed box lacks, asks, and has exactly that done. Answers the box as it then is. */
export async function completeAdoption(context: Context, slug: string): Promise<BoxDetail> {
  const shown = await asked(context, slug, null)
  if (shown.diff === '' && shown.findings.length > 0) throw notPossible(slug, shown.findings)
  context.stderr.write(`${shown.diff.split('\n').map(printable).join('\n').trimEnd()}\n`)
  for (const finding of shown.findings) context.notify(`  ${printable(finding)}`)
  await assertConfirmed(context.ask, `Change ${slug} like this? Its services are started again where that is needed.`)
  const done = await asked(context, slug, shown.diffSha256)
  if (!done.applied)
    throw problem(
      'CONFLICT',
      `${slug} is not as it was when the diff was made, so nothing was changed: look at the diff again (tenantry boxes adopt ${slug} --complete)`,
    )
  if (done.findings.length > 0) throw notPossible(slug, done.findings)
  return shownBox(context, slug)
}

const notPossible = (slug: string, findings: readonly string[]) =>
  problem('BOX_NOT_MANAGED', `${slug} still cannot be managed: ${findings.map(printable).join('; ')}`)

async function asked(context: Context, slug: string, expected: string | null): Promise<Completion> {
  const { commandId } = await context.api.boxes.completeBox({ params: { slug }, body: { expected } })
  const { result } = await toldCommand(context, commandId, `${slug}: ${expected === null ? 'looking at what it lacks' : 'completing it'}`)
  return result as Completion
}
