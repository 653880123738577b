import { wrongCollector } from '../../core/kit/index.ts'
import { openTracing } from '../../node/otlp.ts'
import { buildVersion } from '../../node/package.ts'
import { inSpan } from '../../node/tracing.ts'
import type { Machine } from './terminal.ts'

type Traced = Readonly<{ endpoint: string; machine: Machine; name: string }>

/** Runs a command in the first span of a trace. The variable is shared with other programs, so a wrong value ends no command. */
export async function traceCommand<Result>({ endpoint, machine, name }: Traced, run: () => Promise<Result>): Promise<Result> {
  const warn = (message: string) => void machine.stderr.write(`${message}\n`)
  const wrong = wrongCollector(endpoint)
  if (wrong) {
    warn(`the command is not traced: OTEL_EXPORTER_OTLP_ENDPOINT ${wrong}`)
    return run()
  }
  const tracing = openTracing({ endpoint, service: 'tenantry', version: buildVersion(), clock: machine.clock, onChange: warn })
  try {
    return await inSpan(tracing, { name, kind: 'client' }, run)
  } finally {
    await tracing.close()
  }
}
