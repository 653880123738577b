type Options = Readonly<{ onLine: (line: string) => void; signal: AbortSignal }>

/** Runs the operator's own command by the shell of this machine, with the host's name as HOST. Returns why it failed, undefined after exit code 0. */
export async function runForHost(line: string, host: string, { onLine, signal }: Options): Promise<string | undefined> {
  const { execa } = await import('execa')
  const child = execa('sh', ['-c', line], {
    env: { HOST: host },
    stdin: 'ignore',
    all: true,
    reject: false,
    cancelSignal: signal,
    buffer: false,
  })
  for await (const printed of child.iterable({ from: 'all' })) onLine(String(printed))
  const { failed, exitCode, signal: killedBy } = await child
  signal.throwIfAborted()
  if (!failed) return undefined
  return exitCode === undefined ? `its command was ended by ${killedBy ?? 'an error'}` : `its command ended with exit code ${exitCode}`
}
