//! Files on the disk of a node.

mod demand_checkpoint;
mod earlier_store;
mod full_disk;
mod private_files;
