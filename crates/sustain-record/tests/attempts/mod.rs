//! What the tests and the fuzz targets of `fuzz/` try with any bytes, one file for each.

pub mod descriptor;
pub mod group;
pub mod marks;
pub mod notes;
pub mod superblock;
