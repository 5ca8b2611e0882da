// transactions: atomic commits over several shards (R6): coordinator, participant, decision record, recovery of what is in doubt.
export { type Decision, DecisionLog } from './DecisionLog.js';
export { transactionError, transactionErrors } from './errors.js';
export { LocalTransactions } from './LocalTransactions.js';
export { type TransactionOptions, transactionOptions } from './options.js';
export { type DistributedTransaction, TransactionCoordinator } from './TransactionCoordinator.js';
export { transactionMethods } from './transactionMethods.js';
