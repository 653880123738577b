/** Display names of agent steps; empty where the status already names the step. Other steps keep their name. */
const stepWords: Readonly<Record<string, string>> = {
  pull: 'pull images',
  prefetch: 'verify images',
  'warm-snapshot': 'warm snapshot',
  fence: 'start maintenance',
  stop: 'stop chat and object store',
  snapshot: '',
  'cold-copy': 'copy database',
  rewrite: 'write compose file',
  recreate: 'recreate containers',
  migrate: 'box migrations',
  serve: 'start chat',
  // In the history of older agents.
  'first-ok': 'first passed probe',
  'quick-probe': 'quick probes',
  'check-rollback': 'check rollback by images',
  probe: '',
  unfence: 'end maintenance',
  'confirm-rollback': 'check rollback by images',
  refence: 'start maintenance again',
  'restore-stop': 'restore: stop',
  'restore-data': 'restore: load snapshot',
  'restore-start': 'restore: start',
  'restore-probe': 'restore: probe',
  // Steps of a restore from a snapshot.
  fetch: 'fetch snapshot',
  keep: 'save current data',
  load: 'load snapshot',
  switch: 'switch over',
  // Last step of a hand-over, before a move or a removal.
  settle: 'stop all services',
  // Steps of a test restore.
  fill: 'load database',
  prove: 'verify',
  clear: 'clean up',
  start: 'start services',
  'back-stop': 'revert: stop',
  'back-switch': 'revert: switch over',
  'back-start': 'revert: start',
  'back-probe': 'revert: probe',
}
export const stepWord = (step: string): string => stepWords[step] ?? step.replaceAll('-', ' ')
