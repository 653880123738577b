// Only looking at the schema is no upgrade: a Synapse that dies of what it sees looks again at each restart.
const begun = /Applying (engine-specific )?schema|Upgrading/
const ended = /Schema now up to date|now listening on|too new for the server|Traceback|Checking existing schema version/

/** Whether the end of Synapse's log shows a schema upgrade under way: it listens only after it. */
export function isUpgrading(log: string): boolean {
  const lines = log.split('\n')
  return lines.findLastIndex((line) => begun.test(line)) > lines.findLastIndex((line) => ended.test(line))
}
